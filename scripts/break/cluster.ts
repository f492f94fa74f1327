/** What keeps several machines exact, and the line without which it would not. */

export interface Break {
  readonly rule: string;
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
  readonly test: string;
  /** Of the test, '' = any in the file. */
  readonly name: string;
}

const row = (rule: string, file: string, from: string | RegExp, to: string) => ({
  notices: (test: string, name = ''): Break => ({ rule, file, from, to, test, name }),
});

export const breaks: readonly Break[] = [
  row(
    '1: no more is granted than is free',
    'db/postgres/leases.ts',
    'return room >= want ? want : room >= need ? need : partial ? Math.max(0, room) : 0;',
    'return want;',
  ).notices('tests/postgres/leases.test.ts'),
  row(
    '1: transactions of a node follow one another',
    'db/postgres/nodes.ts',
    "state <> 'expired' AND seq = $1 - 1 RETURNING seq",
    "state <> 'expired' RETURNING seq",
  ).notices('tests/postgres/histories.test.ts'),
  row(
    '1: a node that was declared gone writes nothing',
    'db/postgres/nodes.ts',
    "AND state <> 'expired' AND seq = $1 - 1",
    'AND seq = $1 - 1',
  ).notices('tests/postgres/ledger.test.ts'),
  row(
    '2: a settlement leaves alone what others have leased',
    'db/postgres/ledger-batch.ts',
    "Math.max(0, free) + purses.lease('account', account, sight.lease)",
    'balance',
  ).notices('tests/postgres/ledger.test.ts', 'exactness 2'),
  row(
    '2: what was asked tells a repetition, not what was paid',
    'db/postgres/ledger-batch.ts',
    'function resultOf(command: Settle | Void, { account, asked }: EndRow)',
    'function resultOf(command: Settle | Void, { account, paid: asked }: EndRow)',
  ).notices('tests/postgres/ledger.test.ts', 'exactness 2'),
  row(
    '3: the owner’s own settlement corrects a provisional one',
    'db/postgres/ledger-batch.ts',
    'earlier?.provisional === 1 && command.provisional !== true',
    'earlier === null',
  ).notices('tests/postgres/ledger.test.ts', 'exactness 3'),
  row(
    '3: a hold that comes after its end is none',
    'db/postgres/ledger-batch.ts',
    "if (ends.has(command.ref)) return { status: 'done' };",
    '',
  ).notices('tests/postgres/ledger.test.ts', 'exactness 3'),
  row(
    '4: what the database forgot is found after reconnecting',
    'db/postgres/ledger-store.ts',
    'if (!row.alive || row.seq < seq) fence = null;',
    'if (!row.alive) fence = null;',
  ).notices('tests/postgres/ledger.test.ts', 'exactness 4'),
  row('5: an outbox needs a durable folder', 'server/cluster/books.ts', '...(order.durable ?', '...(true ?').notices(
    'tests/postgres/outage.test.ts',
    'exactness 5',
  ),
  row(
    '8: what commits late is read, whatever its number',
    'db/postgres/feed.ts',
    'AND NOT pg_visible_in_snapshot(xact, $1::pg_snapshot)',
    'AND xact >= pg_snapshot_xmax($1::pg_snapshot)',
  ).notices('tests/postgres/feed.test.ts', 'section 8'),
  row(
    '8: only what every living node has read is forgotten',
    'db/postgres/feed.ts',
    'ORDER BY follows LIMIT 1',
    'ORDER BY follows DESC LIMIT 1',
  ).notices('tests/postgres/feed.test.ts', 'only what every living node'),
  row(
    '10: money that lies elsewhere is not used up',
    'server/relay/admission/lender.ts',
    "loan === 'elsewhere' && error",
    "loan === 'lent' && error",
  ).notices('tests/relay/lender.test.ts'),
  row(
    '10: a deduction takes what nobody has leased',
    'db/postgres/ledger-batch.ts',
    "desk.moves(command.type === 'deduct' ? 'free' : 'all')",
    "desk.moves('all')",
  ).notices('tests/postgres/ledger.test.ts', 'a deduction takes'),
  row(
    '2.2: what open requests hold outlives the life of a node',
    'db/postgres/nodes.ts',
    'const kept = held',
    'const kept = !held',
  ).notices('tests/postgres/ledger.test.ts', 'what a thawed node'),
  row(
    '14: a lease runs from the sending of the last sign',
    'server/relay/admission/tenure.ts',
    'set(Cell.steady, at.steady);',
    'set(Cell.steady, steady());',
  ).notices('tests/postgres/leases.test.ts', 'the life of leases'),
  row(
    '14: by the clock that ran further',
    'server/relay/admission/tenure.ts',
    'Math.max(steady() - get(Cell.steady), Math.abs(wall() - get(Cell.wall)))',
    '(steady() - get(Cell.steady))',
  ).notices('tests/postgres/leases.test.ts', 'the life of leases'),
  row(
    '15: a pooler is noticed',
    'db/postgres/ear.ts',
    'const heard = heardSelf().then(() => true);',
    'const heard = Promise.resolve(true);',
  ).notices('tests/postgres/feed.test.ts', 'section 15'),
  row(
    '15: migrations run once',
    'db/postgres/migrate.ts',
    /await sql`SELECT pg_advisory_xact_lock\([^;]*;/,
    '',
  ).notices('tests/postgres/words.test.ts', 'ten nodes'),
  row(
    'rule 7: a commit on one disk alone is not durable',
    'db/postgres/ledger-store.ts',
    "if (on.wasLocal() || last?.command !== 'COMMIT') {",
    "if (last?.command !== 'COMMIT') {",
  ).notices('tests/postgres/ledger.test.ts'),
];
