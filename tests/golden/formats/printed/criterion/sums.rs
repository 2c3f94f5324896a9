use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, SamplingMode, Throughput};
use std::hint::black_box;

fn sums(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sums/all");
    for n in [100u64, 1000] {
        group.throughput(Throughput::Elements(n));
        group.bench_with_input(BenchmarkId::new("loop", n), &n, |bencher, &n| {
            bencher.iter(|| (0..black_box(n)).fold(0u64, |sum, each| sum ^ each))
        });
    }
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function("once", |bencher| bencher.iter(|| black_box(7u64).pow(3)));
    group.finish();
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(10).nresamples(1000)
        .warm_up_time(std::time::Duration::from_millis(20)).measurement_time(std::time::Duration::from_millis(50));
    targets = sums
}
criterion_main!(all);
