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
    '5: whoever owes does not say that nothing is left',
    'server/cluster/keeper.ts',
    'if (!owes) await alone((on) => noteLeft',
    'await alone((on) => noteLeft',
  ).notices('tests/postgres/leaving.test.ts'),
  row('5: an outbox is one node’s', 'db/outbox-file.ts', "raw.pragma('locking_mode = EXCLUSIVE');", '').notices(
    'tests/ledger/standby.test.ts',
    'an outbox is one',
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
    "if (loan === 'elsewhere') return",
    "if (loan === 'lent') return",
  ).notices('tests/relay/lender.test.ts'),
  row(
    '10: a deduction takes what nobody has leased',
    'db/postgres/ledger-batch.ts',
    "desk.moves(command.type === 'deduct' ? 'free' : 'all')",
    "desk.moves('all')",
  ).notices('tests/postgres/ledger.test.ts', 'a deduction takes'),
  row(
    '2.2: what is leased of a key is within its budgets',
    'db/postgres/leases.ts',
    "const bounds = ['limit', 'day', 'month'] as const;",
    "const bounds = ['limit', 'day', 'month'].slice(0, 1) as readonly 'limit'[];",
  ).notices('tests/postgres/leases.test.ts', 'what is leased of a budget'),
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
    '15: what is told is written down for those who hear nothing',
    'db/postgres/wire.ts',
    'WITH kept AS (INSERT INTO node_messages (text) VALUES ($2)) SELECT',
    'SELECT',
  ).notices('tests/postgres/deaf.test.ts'),
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
  row(
    'jobs: whoever works has the turn for itself',
    'db/postgres/turns.ts',
    'WHERE jobs.held_until < clock_timestamp() AND jobs.due',
    'WHERE jobs.due',
  ).notices('tests/postgres/company.test.ts', 'who did it last'),
  row(
    'jobs: what is done is not due again',
    'db/postgres/turns.ts',
    'AND jobs.due <= clock_timestamp()',
    "AND jobs.due <= timestamptz 'infinity'",
  ).notices('tests/postgres/company.test.ts', 'a job is done once'),
  row(
    'jobs: whoever died in the middle is not waited for',
    'db/postgres/turns.ts',
    'const heldSeconds = 30;',
    'const heldSeconds = 3000;',
  ).notices('tests/postgres/company.test.ts', 'who did it last'),
  row(
    'rates: all nodes count in one window',
    'server/cluster/redis.ts',
    'keys.map((key) => prefix + key)',
    'keys.map((key) => prefix + Math.random() + key)',
  ).notices('tests/postgres/rates.test.ts', '300 requests'),
  row(
    'rates: one window that refuses counts in none',
    'server/relay/admission/site-rates.ts',
    'if most >= 0 and sum > most then',
    "redis.call('HINCRBY', KEYS[at], newest, 1)\n  if most >= 0 and sum > most then",
  ).notices('tests/postgres/rates.test.ts', 'one window that refuses'),
  row(
    'rates: what never ran is taken back',
    'server/relay/admission/site-rates.ts',
    'if had > 0 then',
    'if had < 0 then',
  ).notices('tests/postgres/rates.test.ts', 'one window that refuses'),
  row(
    'rates: a server that is frozen holds nobody up',
    'server/cluster/redis.ts',
    'return Promise.race([work, late]);',
    'return Promise.race([work, late.catch(() => work)]);',
  ).notices('tests/postgres/rates.test.ts', 'away, frozen or emptied'),
  row(
    'rates: without a server each node has its share',
    'server/relay/admission/limits.ts',
    'const among = nodes();',
    'const among = 1;',
  ).notices('tests/postgres/rates.test.ts', 'without anybody who counts'),
  row(
    'gossip: a wait is told as how long it lasts',
    'server/control/gossip.ts',
    "items.flatMap((item) => (item[0] === 'c' ? [shifted(item[1], now)] : []))",
    "items.flatMap((item) => (item[0] === 'c' ? [item[1]] : []))",
  ).notices('tests/postgres/company.test.ts', 'what one machine learns'),
  row(
    'gossip: nobody learns from itself',
    'server/control/gossip.ts',
    'if (from === deps.from) return null;',
    '',
  ).notices('tests/postgres/company.test.ts', 'a flood of conversations'),
  row('gossip: a notice fits', 'server/control/gossip.ts', 'if (size + bytes > mostBytes) close();', '').notices(
    'tests/postgres/company.test.ts',
    'a flood of conversations',
  ),
  row(
    'the grace: whoever comes before the balancer has noticed is served',
    'server/stop.ts',
    'if (delayMs > 0) await until(() => hurried, delayMs);',
    '',
  ).notices('tests/postgres/stop-delay.test.ts', 'by a signal'),
  row(
    'the grace: balancers are told at once',
    'server/http/front-door.ts',
    'draining: leaving }',
    'draining }',
  ).notices('tests/postgres/stop-delay.test.ts', 'by a signal'),
  row(
    'forgetting later settles nothing sooner',
    'db/postgres/members.ts',
    "CASE WHEN $2 THEN '-infinity' ELSE expires_at END",
    "CASE WHEN $2 THEN '-infinity' ELSE '-infinity' END",
  ).notices('tests/postgres/company.test.ts', 'forgotten when what it left open'),
  row(
    'an answer counts for the question it answers',
    'server/ledger/leases.ts',
    'if (line === undefined || line.mark !== mark) return;',
    'if (line === undefined) return;',
  ).notices('tests/ledger/recall.test.ts', 'an earlier recall'),
  row(
    'used up is told to who asked before it was found out',
    'server/ledger/leases.ts',
    'known.at >= since &&',
    '',
  ).notices('tests/ledger/recall.test.ts', 'given after a refusal'),
];
