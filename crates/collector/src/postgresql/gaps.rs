//! The gaps of senders in a domain's schema.

use std::collections::BTreeMap;

use tokio_postgres::Transaction;

use super::names::table;
use crate::status::{Gap, Streams};
use crate::store::StoreError;

const TABLE: &str = "_trialwise_gaps";

/// Gaps that wait for the next commit.
pub(super) type Waiting = BTreeMap<(i64, String), Gap>;

/// What makes the table of a schema unless it is there.
pub(super) fn create(schema: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (spool TEXT, oml_sender_id INT4, stream TEXT, start_time INT8, last_seq INT8,
             missing INT8, PRIMARY KEY (spool, oml_sender_id, stream));",
        table(schema, TABLE)
    )
}

/// Those of a spool.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    schema: &str,
    spool: &str,
) -> Result<Streams<i64>, StoreError> {
    let place = table(schema, TABLE);
    let sql =
        format!("SELECT oml_sender_id, stream, start_time, last_seq, missing FROM {place} WHERE spool = $1");
    let mut gaps = Streams::<i64>::new();
    for row in transaction.query(&sql, &[&spool]).await? {
        let missing = row.try_get::<_, i64>(4)?.cast_unsigned();
        let gap = Gap { start: row.try_get(2)?, last: row.try_get(3)?, missing };
        gaps.entry(row.try_get::<_, i32>(0)?.into()).or_default().insert(row.try_get(1)?, gap);
    }
    Ok(gaps)
}

/// Brings those that wait, in one statement.
pub(super) async fn write(
    transaction: &Transaction<'_>,
    schema: &str,
    spool: &str,
    waiting: &Waiting,
) -> Result<(), StoreError> {
    if waiting.is_empty() {
        return Ok(());
    }
    let senders = waiting.keys().map(|(sender, _)| i32::try_from(*sender)).collect::<Result<Vec<_>, _>>()?;
    let streams: Vec<&str> = waiting.keys().map(|(_, stream)| stream.as_str()).collect();
    let starts: Vec<Option<i64>> = waiting.values().map(|gap| gap.start).collect();
    let lasts: Vec<i64> = waiting.values().map(|gap| gap.last).collect();
    let missing: Vec<i64> = waiting.values().map(Gap::missing_signed).collect();
    let sql = format!(
        "INSERT INTO {} SELECT $1, * FROM unnest($2::int4[], $3::text[], $4::int8[], $5::int8[], $6::int8[]) \
         ON CONFLICT (spool, oml_sender_id, stream) DO UPDATE SET start_time = excluded.start_time, \
         last_seq = excluded.last_seq, missing = excluded.missing",
        table(schema, TABLE)
    );
    transaction.execute(&sql, &[&spool, &senders, &streams, &starts, &lasts, &missing]).await?;
    Ok(())
}
