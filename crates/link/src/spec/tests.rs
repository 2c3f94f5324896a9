use proptest::prelude::*;
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use trialwise_units::element::Form;

use trialwise_units::element::ElementError;

use super::*;
use crate::delay::{BatchSpec, DelaySpec};
use crate::loss::LossSpec;
use crate::loss::pattern::RecordedLossSpec;
use crate::outage::{OutageSpec, PhasesSpec};
use crate::policer::PolicerSpec;
use crate::queue::codel::{CoDelSpec, MahimahiCoDelSpec};
use crate::queue::drop_head::DropHeadSpec;
use crate::queue::drop_tail::{DropTailSpec, InfiniteSpec};
use crate::queue::dualpi2::DualPi2Spec;
use crate::queue::fq_codel::FqCoDelSpec;
use crate::queue::pie::PieSpec;
use crate::queue::red::RedSpec;
use crate::queue::{
    CoDelParameters, CoDelVariant, DualPi2Parameters, FqCoDelParameters, Limit, PieParameters, QueueSpec,
    RedParameters,
};
use crate::queue::{LimitSpec, Surroundings};
use crate::rate::RateSpec;
use crate::rate::opportunities::TraceRateSpec;
use crate::trace::{ByteConvention, Phases, Repeat};
use crate::{Exit, Fate, Packet};

#[derive(Clone)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

/// A folder with a few files.
fn files(path: &str) -> Result<String, String> {
    match path {
        "12mbps.trace" => Ok("1\n".to_owned()),
        "unsorted.trace" => Ok("5\n1\n".to_owned()),
        "packets.loss" => Ok("0\n1\n0\n".to_owned()),
        "rates.loss" => Ok("0 0%\n1000 50%\n".to_owned()),
        "both.path" => Ok("# trialwise.path/1 {}\ntime_ms,direction,rate_bps,base_delay_us,loss,state\n\
            0,uplink,12000000,10000,0,on\n0,downlink,,30000,,\n50,uplink,,,,hold\n60,uplink,,,,on\n\
            70,uplink,,,,off\n100,uplink,,,,on\n"
            .to_owned()),
        "delays" => Ok("0 10ms\n1000 20ms\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    }
}

fn queue(text: &str) -> QueueSpec {
    text.parse().unwrap()
}

fn message<T: std::str::FromStr<Err = ElementError>>(text: &str) -> String {
    text.parse::<T>().err().expect("it is refused").to_string()
}

#[test]
fn queues_read_as_written() {
    let packets = |packets| LimitSpec { packets: Some(packets), ..LimitSpec::default() };
    assert_eq!(queue("infinite"), QueueSpec::Infinite(InfiniteSpec));
    assert_eq!(
        queue("droptail:packets=50"),
        QueueSpec::DropTail(DropTailSpec { limit: packets(50), threshold: Limit::NONE })
    );
    for (mark, threshold) in [("20", Limit::packets(20)), ("30kB", Limit::bytes(Bytes::new(30_000)))] {
        let found = queue(&format!("droptail:packets=50,mark={mark}"));
        assert_eq!(found, QueueSpec::DropTail(DropTailSpec { limit: packets(50), threshold }));
    }
    let both = LimitSpec { packets: Some(50), bytes: Some(Bytes::new(75_000)), bdp: None };
    assert_eq!(queue("drophead: packets=50, bytes=75kB"), QueueSpec::DropHead(DropHeadSpec { limit: both }));
    assert_eq!(
        queue("codel:packets=1000,target=5ms,interval=100ms"),
        QueueSpec::CoDel(CoDelSpec { limit: packets(1000), parameters: CoDelParameters::default() })
    );
    assert_eq!(
        queue("fq_codel"),
        QueueSpec::FqCoDel(FqCoDelSpec { limit: packets(10_240), parameters: FqCoDelParameters::default() })
    );
    let QueueSpec::Red(RedSpec { limit, parameters: red }) = queue("red:packets=100,min=10,ecn=yes") else {
        panic!("not red")
    };
    assert_eq!((limit, red.minimum, red.maximum, red.ecn), (packets(100), 10.0, 30.0, true));
}

#[test]
fn dualpi2_takes_the_numbers_of_the_rfc_or_those_of_linux() {
    let packets = |count| LimitSpec { packets: Some(count), ..LimitSpec::default() };
    let milliseconds = Duration::from_milliseconds;
    let rfc = DualPi2Parameters::default();
    assert_eq!(queue("dualpi2"), QueueSpec::DualPi2(DualPi2Spec { limit: None, parameters: rfc }));
    let near = DualPi2Parameters {
        coupling: 1.5,
        threshold: Duration::from_microseconds(500),
        range: Duration::ZERO,
        share: 0.25,
        ..DualPi2Parameters::for_round_trips(milliseconds(5), milliseconds(30))
    };
    assert_eq!(
        queue("dualpi2:packets=50,target=5ms,max_rtt=30ms,coupling=1.5,threshold=500us,range=0ms,share=25%"),
        QueueSpec::DualPi2(DualPi2Spec { limit: Some(packets(50)), parameters: near })
    );
    let linux = DualPi2Parameters::LINUX;
    assert_eq!(
        queue("dualpi2-linux"),
        QueueSpec::DualPi2(DualPi2Spec { limit: Some(packets(10_000)), parameters: linux })
    );
    let other = DualPi2Parameters {
        target: milliseconds(20),
        update: milliseconds(32),
        alpha: 0.2,
        beta: 4.0,
        coupling: 3.0,
        threshold: milliseconds(2),
        share: 0.2,
        ..linux
    };
    let arguments = "packets=50,target=20ms,update=32ms,alpha=0.2,beta=4,coupling=3,threshold=2ms,share=20%";
    assert_eq!(
        queue(&format!("dualpi2-linux:{arguments}")),
        QueueSpec::DualPi2(DualPi2Spec { limit: Some(packets(50)), parameters: other })
    );
}

#[test]
fn each_argument_of_a_managed_queue_is_taken_and_what_is_left_out_is_the_default() {
    let limit = LimitSpec { bytes: Some(Bytes::new(90_000)), ..LimitSpec::default() };
    let milliseconds = Duration::from_milliseconds;
    let codel = CoDelParameters {
        target: milliseconds(3),
        interval: milliseconds(70),
        ecn: true,
        ..CoDelParameters::default()
    };
    assert_eq!(
        queue("codel:bytes=90kB,target=3ms,interval=70ms,ecn=yes"),
        QueueSpec::CoDel(CoDelSpec { limit, parameters: codel })
    );
    let arguments = "bytes=90kB,target=3ms,interval=70ms,ecn=no,flows=8,quantum=300";
    let fair = FqCoDelParameters {
        codel: CoDelParameters { ecn: false, ..codel },
        flows: 8,
        quantum: Bytes::new(300),
    };
    assert_eq!(
        queue(&format!("fq_codel:{arguments}")),
        QueueSpec::FqCoDel(FqCoDelSpec { limit, parameters: fair })
    );
    let pie = PieParameters {
        target: milliseconds(11),
        update: milliseconds(12),
        max_burst: milliseconds(130),
        ecn: true,
        ..PieParameters::default()
    };
    let arguments = "bytes=90kB,target=11ms,update=12ms,max_burst=130ms,ecn=yes";
    assert_eq!(queue(&format!("pie:{arguments}")), QueueSpec::Pie(PieSpec { limit, parameters: pie }));
    let thousand = LimitSpec { packets: Some(1000), ..LimitSpec::default() };
    assert_eq!(
        queue("pie"),
        QueueSpec::Pie(PieSpec { limit: thousand, parameters: PieParameters::default() })
    );
    let red = RedParameters {
        minimum: 4.0,
        maximum: 9.0,
        probability: 0.02,
        weight: 0.001,
        is_gentle: false,
        ecn: true,
        packet_time: Duration::ZERO,
    };
    let arguments = "bytes=90kB,min=4,max=9,probability=2%,weight=0.001,gentle=no,ecn=yes";
    assert_eq!(queue(&format!("red:{arguments}")), QueueSpec::Red(RedSpec { limit, parameters: red }));
    // Floyd (1997) recommends min_th 5, max_th three times that, max_p 0.1 and w_q 0.002.
    let plain = RedParameters { minimum: 5.0, maximum: 15.0, probability: 0.1, weight: 0.002, ..red };
    let plain = RedParameters { is_gentle: true, ecn: false, ..plain };
    assert_eq!(queue("red:bytes=90kB"), QueueSpec::Red(RedSpec { limit, parameters: plain }));
}

#[test]
fn queues_of_mm_link_read_as_its_arguments() {
    let codel = QueueSpec::from_mahimahi("codel", "packets=100, target=50, interval=100").unwrap();
    let QueueSpec::MahimahiCoDel(MahimahiCoDelSpec { limit, parameters }) = codel else {
        panic!("not codel")
    };
    assert_eq!((limit.packets, parameters.variant), (Some(100), CoDelVariant::Mahimahi));
    assert_eq!(parameters.target, Duration::from_milliseconds(50));
    let pie = QueueSpec::from_mahimahi("pie", "bytes=90000, qdelay_ref=20, max_burst=100");
    assert_eq!(pie.unwrap(), queue("pie-mahimahi:bytes=90000,target=20ms,max_burst=100ms"));
    assert_eq!(QueueSpec::from_mahimahi("infinite", "").unwrap(), QueueSpec::Infinite(InfiniteSpec));
    assert!(QueueSpec::from_mahimahi("infinite", "packets=1").is_err());
    assert!(QueueSpec::from_mahimahi("droptail", "").is_err());
}

#[test]
fn refusals_name_what_is_wrong_what_is_known_and_what_is_near() {
    let known: Vec<&str> = QueueSpec::KIND.forms().map(|queue| queue.name).collect();
    assert_eq!(
        message::<QueueSpec>("drptail:packets=50"),
        format!("unknown queue `drptail`, did you mean `droptail`?; known: {}", known.join(", "))
    );
    assert_eq!(known[..3], ["infinite", "droptail", "drophead"]);
    assert_eq!(
        message::<QueueSpec>("droptail:packet=50"),
        "unknown key of queue droptail `packet`, did you mean `packets`?; known: packets, bytes, bdp, mark"
    );
    assert_eq!(
        message::<QueueSpec>("droptail"),
        "queue droptail needs a limit (packets, bytes or bdp); write one like droptail:packets=50"
    );
    assert_eq!(
        message::<QueueSpec>("droptail:packets=0"),
        "queue droptail: packets: 0 would let nothing pass; write 1 or more"
    );
    assert_eq!(
        message::<QueueSpec>("droptail:50"),
        "queue droptail: `50` is not key=value; keys: packets, bytes, bdp, mark"
    );
    assert_eq!(
        message::<QueueSpec>("droptail:packets=5,packets=6"),
        "queue droptail: `packets` is given twice; keep one"
    );
    assert!(
        message::<QueueSpec>("codel:target=5")
            .contains("codel: target: `5` is not a duration: the unit is missing")
    );
    assert!(message::<QueueSpec>("codel:ecn=maybe").ends_with("neither yes nor no"));
    assert!(message::<QueueSpec>("red:packets=9,min=5,max=4").contains("4 is below min (5)"));
    assert!(message::<RateSpec>("0bit/s").contains("at rate 0 nothing would ever pass"));
    assert!(message::<RateSpec>("12").contains("the unit is missing"));
    assert!(message::<RateSpec>("poison:rate=1Mbit/s").contains("did you mean `poisson`?"));
    assert!(message::<LossSpec>("100%").contains("every packet would be lost"));
    assert!(
        message::<LossSpec>("gilbert-elliott:to_bad=100%,to_good=0").contains("every packet would be lost")
    );
    assert!(message::<LossSpec>("-1%").contains("negative"));
    assert!(message::<DelaySpec>("28").contains("the unit is missing"));
    assert!(message::<DelaySpec>("28ms,reorder=yes").contains("needs jitter"));
    assert!(message::<PolicerSpec>("1Mbit/s,burst=100").contains("no full packet"));
    assert!(message::<OutageSpec>("exponental:on=1s,off=1s").contains("did you mean `exponential`?"));
    assert!(message::<BatchSpec>("packets=3").contains("either packets and wait, or every"));
}

#[test]
fn links_are_refused_as_wholes_too() {
    let refusal =
        |pairs: &[(&str, &str)]| LinkSpec::from_pairs(pairs.iter().copied(), &files).unwrap_err().to_string();
    assert!(refusal(&[("queue", "infinite")]).starts_with("a queue needs a rate"));
    assert!(refusal(&[("dealy", "1ms")]).contains("did you mean `delay`?"));
    assert!(refusal(&[("delay", "1ms"), ("delay", "2ms")]).contains("given twice"));
}

#[test]
fn limits_in_bdps_are_bytes_of_rate_and_round_trip() {
    let surroundings = |round_trip| Surroundings {
        rate: Rate::from_megabits_per_second(12),
        round_trip,
        start: Time::ZERO,
        seed: Seed::new(1),
    };
    let QueueSpec::DropTail(DropTailSpec { limit, .. }) = queue("droptail:bdp=1") else {
        panic!("not droptail")
    };
    let sixty = surroundings(Some(Duration::from_milliseconds(60)));
    let spared = |bytes| Limit { spares_one: true, ..Limit::bytes(Bytes::new(bytes)) };
    assert_eq!(limit.resolve(&sixty), Ok(spared(90_000)));
    let QueueSpec::DropTail(DropTailSpec { limit: small, .. }) = queue("droptail:bdp=0.001") else {
        panic!("not droptail")
    };
    assert_eq!(small.resolve(&sixty), Ok(spared(1_500)), "a full packet must fit");
    let refusal = limit.resolve(&surroundings(None)).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "a limit in bdp needs a delay, from which the round-trip time follows; write one like packets=50"
    );
}

#[test]
fn capacity_is_the_smallest_mean_rate_on_the_way() {
    let capacity = |pairs: &[(&str, &str)]| {
        LinkSpec::from_pairs(pairs.iter().copied(), &files).unwrap().capacity().map(Rate::bits_per_second)
    };
    assert_eq!(capacity(&[("delay", "1ms"), ("loss", "1%")]), None);
    assert_eq!(capacity(&[("rate", "12Mbit/s"), ("policer", "8Mbit/s,burst=15kB")]), Some(8_000_000));
    assert_eq!(capacity(&[("rate", "trace:12mbps.trace,bytes=mahimahi")]), Some(12_032_000));
    assert_eq!(capacity(&[("rate", "on-off:rate=12Mbit/s,on=1s,off=3s")]), Some(3_000_000));
    assert_eq!(capacity(&[("rate", "cellular:rate=5Mbit/s")]), Some(5_000_000));
}

#[test]
fn a_written_rate_makes_the_trace_of_its_kind() {
    let rate = |text| RateSpec::read(text, &files).unwrap();
    let period = |text, length: Option<u64>| {
        let length = length.map(Duration::from_milliseconds);
        rate(text).trace(length, Seed::new(1)).unwrap().period().milliseconds()
    };
    assert_eq!(period("12Mbit/s", None), 60_000);
    assert_eq!(period("12Mbit/s", Some(500)), 500);
    assert_eq!(period("trace:12mbps.trace", Some(500)), 1);
    assert!((950..=1000).contains(&period("poisson:rate=12Mbit/s,length=1s", None)));
    assert!((450..=500).contains(&period("poisson:rate=12Mbit/s,length=1s", Some(500))));
}

#[test]
fn a_link_is_built_in_the_order_of_its_elements() {
    let pairs = [
        ("delay", "28ms"),
        ("loss", "pattern:01"),
        ("rate", "12Mbit/s"),
        ("queue", "droptail:packets=2"),
        ("outage", "fixed:on=10s,off=1s"),
    ];
    let spec = LinkSpec::from_pairs(pairs, &files).unwrap();
    assert_eq!(spec.base_delay(), Duration::from_milliseconds(28));
    let mut link = spec.build(Time::ZERO, Seed::new(1), None).unwrap();
    (0..4).for_each(|_| link.push(Time::ZERO, Full));
    let exits: Vec<Exit<Full>> = std::iter::from_fn(|| link.pop(Time::from_milliseconds(100))).collect();
    let times: Vec<u64> = exits.iter().map(|exit| exit.time.milliseconds()).collect();
    assert_eq!(times, [0, 2, 29, 31]);
    assert!(matches!(exits[0].fate, Fate::Dropped { element: 0, .. }));
    assert!(matches!(exits[1].fate, Fate::Dropped { element: 2, .. }));
    let names: Vec<&str> = link.counters().map(|(name, _)| name).collect();
    assert_eq!(names, ["rate", "outage", "loss", "delay"]);
}

/// A packet of a flow.
#[derive(Clone)]
struct Of(u16);

impl Packet for Of {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }

    fn flow(&self) -> u64 {
        u64::from(self.0)
    }
}

#[test]
fn a_flow_may_be_further_away_than_the_others() {
    let near = LinkSpec::from_pairs([("delay", "10ms")], &files).unwrap();
    for at_exit in [false, true] {
        let delays = [(7, Duration::from_milliseconds(5)), (8, Duration::from_milliseconds(1))];
        let spec = near.clone().with_flow_delays(&delays, at_exit);
        assert_eq!(
            spec.base_delay(),
            Duration::from_milliseconds(10),
            "that of flows without one of their own"
        );
        let mut link = spec.build(Time::ZERO, Seed::new(1), None).unwrap();
        for (time, flow) in [(0, 7), (0, 1), (1, 8), (2, 7)] {
            link.push(Time::from_milliseconds(time), Of(flow));
        }
        let exits: Vec<Exit<Of>> = std::iter::from_fn(|| link.pop(Time::from_milliseconds(100))).collect();
        let left: Vec<(u64, u16)> =
            exits.iter().map(|exit| (exit.time.milliseconds(), exit.packet.0)).collect();
        assert_eq!(left, [(10, 1), (12, 8), (15, 7), (17, 7)]);
    }
    assert_eq!(near.clone().with_flow_delays(&[], false), near);
}

/// The texts of a form that sets this key to something that nothing takes.
fn nonsense(form: &Form, key: &str) -> String {
    let (name, rest) = form.example.split_once(':').unwrap_or(("", form.example));
    let kept = rest.split(',').filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(key));
    let wrong = format!("{key}=?!");
    let text = kept.chain([wrong.as_str()]).collect::<Vec<_>>().join(",");
    if name.is_empty() && !form.example.contains(':') && !form.name.is_empty() {
        return format!("{}:{key}=?!", form.name);
    }
    if name.is_empty() { text } else { format!("{name}:{text}") }
}

#[test]
fn every_example_is_read_and_no_key_takes_nonsense() {
    let by_ending = |path: &str| match path {
        "FILE.trace" => Ok("1\n5\n".to_owned()),
        "FILE.delays" => Ok("0 10ms\n".to_owned()),
        "FILE.losses" => Ok("0 1%\n".to_owned()),
        "FILE.rates" => Ok("0 12Mbit/s\n".to_owned()),
        "FILE.spans" => Ok("1500 50ms\n".to_owned()),
        "FILE.csv" => files("both.path"),
        _ => Ok("0001\n".to_owned()),
    };
    for kind in LinkSpec::kinds() {
        for form in kind.forms() {
            let read = |text: &str| {
                let rate = ("rate", "1Mbit/s");
                let pairs = if kind.name == "queue" {
                    vec![rate, (kind.name, text)]
                } else {
                    vec![(kind.name, text)]
                };
                LinkSpec::from_pairs(pairs, &by_ending)
            };
            assert!(form.example.starts_with(form.name), "{}", form.example);
            assert!(read(form.example).is_ok(), "{} {}", kind.name, form.example);
            for key in form.keys {
                let text = nonsense(form, key.name);
                let refusal = read(&text).unwrap_err().to_string();
                assert!(refusal.contains(key.name) && refusal.contains("?!"), "{text}: {refusal}");
            }
        }
    }
}

#[test]
fn files_are_read_by_the_caller() {
    let refusal = |text: &str| RateSpec::read(text, &files).unwrap_err().to_string();
    assert_eq!(refusal("trace:lost.trace"), "rate trace: lost.trace: there is no such file");
    assert!(
        refusal("trace:unsorted.trace")
            .starts_with("rate trace: unsorted.trace: line 2 of the trace goes back")
    );
    assert!(refusal("trace:12mbps.trace,bytes=mahi").contains("known: documented, mahimahi"));
    assert!(message::<RateSpec>("trace:12mbps.trace").ends_with("hand in a reader of files"));
    let RateSpec::Trace(TraceRateSpec { convention, repeat, .. }) =
        RateSpec::read("trace:12mbps.trace,bytes=mahimahi,repeat=no", &files).unwrap()
    else {
        panic!("no trace")
    };
    assert_eq!((convention, repeat), (ByteConvention::Mahimahi, Repeat::Once));
    let delay = DelaySpec::read("series:delays,reorder=yes", &files).unwrap();
    assert_eq!(delay.base(), Duration::from_milliseconds(10));
    assert!(matches!(
        LossSpec::read("trace:packets.loss", &files),
        Ok(LossSpec::Recorded(RecordedLossSpec { repeat: Repeat::Once, .. }))
    ));
    assert!(matches!(LossSpec::read("series:rates.loss", &files), Ok(LossSpec::Varying(_))));
}

#[test]
fn every_kind_of_element_can_be_written_and_built() {
    for pairs in [
        vec![
            ("policer", "10Mbit/s,burst=15kB"),
            ("delay", "5ms,jitter=2ms,distribution=exponential,reorder=yes"),
        ],
        vec![("rate", "poisson:rate=3Mbit/s,length=5s"), ("queue", "pie:packets=100,ecn=yes")],
        vec![("rate", "on-off:rate=12Mbit/s,on=1s,off=500ms,phases=fixed"), ("queue", "red:bdp=2")],
        vec![("rate", "cellular:rate=5Mbit/s,dwell=50ms,levels=4"), ("batches", "every=100ms")],
        vec![("rate", "trace:12mbps.trace"), ("delay", "series:delays")],
        vec![("loss", "trace:packets.loss,repeat=yes"), ("delay", "1ms")],
        vec![("rate", "1Gbit/s,overhead=38"), ("loss", "gilbert-elliott:to_bad=1%,to_good=10%")],
        vec![("outage", "exponential:on=5s,off=1s"), ("batches", "packets=10,wait=5ms")],
    ] {
        let spec =
            LinkSpec::from_pairs(pairs.clone(), &files).unwrap_or_else(|error| panic!("{pairs:?}: {error}"));
        assert_eq!(spec.elements.len(), if pairs.iter().any(|(key, _)| *key == "queue") { 1 } else { 2 });
        let link = spec.build::<Full>(Time::ZERO, Seed::new(1), Some(Duration::from_milliseconds(56)));
        assert!(link.is_ok());
    }
    let Ok(OutageSpec::Phases(PhasesSpec { phases, .. })) = "fixed:on=1s,off=2s".parse() else {
        panic!("no phases")
    };
    assert_eq!(phases, Phases::Fixed);
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z_-]{0,14}[:,]?([a-z_]{0,8}=?[0-9a-z.%/-]{0,6},?){0,4}|.*") {
        let _ = (text.parse::<QueueSpec>(), text.parse::<RateSpec>(), text.parse::<LossSpec>());
        let _ = (text.parse::<DelaySpec>(), text.parse::<OutageSpec>(), text.parse::<PolicerSpec>());
        let _ = text.parse::<BatchSpec>();
    }
}

fn course(pairs: &[(&str, &str)]) -> Result<LinkSpec, String> {
    LinkSpec::from_pairs(pairs.iter().copied(), &files).map_err(|error| error.to_string())
}

#[test]
fn a_course_stands_for_the_keys_of_its_parts() {
    let up =
        course(&[("course", "recording:both.path,way=uplink"), ("queue", "droptail:packets=5")]).unwrap();
    assert_eq!(up.names(), ["rate", "outage", "handover", "loss", "delay"]);
    assert_eq!(up.capacity(), Some(Rate::from_megabits_per_second(12)));
    assert_eq!(up.base_delay(), Duration::from_milliseconds(10));
    let down = course(&[("course", "recording:both.path,way=downlink"), ("rate", "1Mbit/s"), ("loss", "1%")]);
    let down = down.unwrap();
    assert_eq!(down.names(), ["rate", "loss", "delay"]);
    assert_eq!(down.base_delay(), Duration::from_milliseconds(30));
    let refused = course(&[("course", "recording:both.path,way=uplink"), ("delay", "1ms")]).unwrap_err();
    assert_eq!(refused, "a link whose course says it already: `delay` is given twice; keep one");
    let queue = course(&[("course", "recording:both.path,way=downlink"), ("queue", "infinite")]);
    assert!(queue.unwrap_err().contains("needs a rate that it waits for"));
    assert!(course(&[("course", "recording:both.path")]).unwrap_err().contains("needs a way"));
    assert!(course(&[("course", "recording:nowhere,way=uplink")]).unwrap_err().contains("no such file"));
}

/// Full packets, one in each millisecond, through a link: when each leaves, and which element dropped others.
fn crossed(spec: &LinkSpec, count: u64) -> (Vec<u64>, Vec<usize>) {
    let mut link = spec.build(Time::ZERO, Seed::new(3), None).unwrap();
    let (mut times, mut drops) = (Vec::new(), Vec::new());
    let mut exits = Vec::new();
    for time in 0..count {
        link.push(Time::from_milliseconds(time), Full);
        exits.extend(std::iter::from_fn(|| link.pop(Time::from_milliseconds(time))));
    }
    exits.extend(std::iter::from_fn(|| link.pop(Time::from_milliseconds(count + 100_000))));
    for exit in exits {
        match exit.fate {
            Fate::Delivered => times.push(exit.time.milliseconds()),
            Fate::Dropped { element, .. } | Fate::Copied { element } => drops.push(element),
        }
    }
    (times, drops)
}

#[test]
fn a_recorded_course_paces_holds_loses_and_delays() {
    let up = course(&[("course", "recording:both.path,way=uplink")]).unwrap();
    let (times, drops) = crossed(&up, 100);
    // One leaves the rate after each millisecond from 1 on: those of 50 to 59 wait until 60, those of 70 to 99 are lost.
    assert_eq!(drops, [1; 30]);
    let expected: Vec<u64> = (1..=100)
        .filter(|time| !(70..100).contains(time))
        .map(|time| if (50..60).contains(&time) { 70 } else { time + 10 })
        .collect();
    assert_eq!(times, expected);
}

#[test]
fn all_parts_of_a_drawn_course_are_of_one_draw() {
    let text = "leo:rate=100Mbit/s..100Mbit/s,delay=20ms..60ms,drift=no,period=1s,phase=1s,outage=50%";
    let link = course(&[("course", text)]).unwrap();
    assert_eq!(link.names(), ["rate", "outage", "handover", "delay"]);
    let (times, drops) = crossed(&link, 20_000);
    assert_eq!(times.len() + drops.len(), 20_000);
    assert!(times.is_sorted(), "none overtakes");
    // In each of 19 changes either 10 to 100 are lost, or none.
    assert!(
        (50..1_900).contains(&drops.len()) && drops.iter().all(|element| *element == 1),
        "{}",
        drops.len()
    );
    assert_eq!(crossed(&link, 20_000), (times, drops));
}
