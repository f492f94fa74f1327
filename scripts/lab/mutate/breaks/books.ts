/** What the books of several machines stand on: how they are written, what is leased of them, what happens when they are away. */
import { type Break, row } from './row.ts';

export const books: readonly Break[] = [
  row(
    'no more is granted than is free',
    'db/postgres/leases.ts',
    'return room >= want ? want : room >= need ? need : partial ? Math.max(0, room) : 0;',
    'return want;',
  )
    .keeps('rule 5', 'correction 1')
    .notices('tests/postgres/leases.test.ts'),
  row(
    'transactions of a node follow one another, also where a pooler changes the server under a connection',
    'db/postgres/nodes.ts',
    "state <> 'expired' AND seq = $1 - 1 RETURNING seq",
    "state <> 'expired' RETURNING seq",
  )
    .keeps('rule 7', 'correction 1', 'correction 4')
    .notices('tests/postgres/ledger.test.ts', 'exactness 4'),
  row(
    'a node that was declared gone writes nothing',
    'db/postgres/nodes.ts',
    "AND state <> 'expired' AND seq = $1 - 1",
    'AND seq = $1 - 1',
  )
    .keeps('rule 5', 'correction 1')
    .notices('tests/postgres/ledger.test.ts'),
  row(
    'a settlement leaves alone what others have leased',
    'db/ledger/postgres/batch.ts',
    "Math.max(0, free) + leaseBook.lease('account', account, sight.lease)",
    'balance',
  )
    .keeps('rule 5', 'correction 2')
    .notices('tests/postgres/ledger.test.ts', 'exactness 2'),
  row(
    'what was asked tells a repetition, not what was paid',
    'db/ledger/postgres/batch.ts',
    'function resultOf(command: Settle | Void, { account, asked }: EndRow)',
    'function resultOf(command: Settle | Void, { account, paid: asked }: EndRow)',
  )
    .keeps('rule 5', 'correction 2')
    .notices('tests/postgres/ledger.test.ts', 'exactness 2'),
  row(
    'the owner’s own settlement corrects a provisional one',
    'db/ledger/postgres/batch.ts',
    'earlier?.provisional === 1 && command.provisional !== true',
    'earlier === null',
  )
    .keeps('rule 5', 'correction 3')
    .notices('tests/postgres/ledger.test.ts', 'exactness 3'),
  row(
    'a hold that comes after its end is none',
    'db/ledger/postgres/batch.ts',
    "if (ends.has(command.ref)) return { status: 'done' };",
    '',
  )
    .keeps('rule 5', 'correction 3')
    .notices('tests/postgres/ledger.test.ts', 'exactness 3'),
  row(
    'what the database forgot is found after reconnecting',
    'db/ledger/postgres/store.ts',
    'if (!row.alive || row.seq < seq) fence = null;',
    'if (!row.alive) fence = null;',
  )
    .keeps('rule 7', 'correction 4')
    .notices('tests/postgres/ledger.test.ts', 'exactness 4'),
  row(
    'an outbox needs a durable folder',
    'server/cluster/node-ledger.ts',
    'standbyOf(files.outbox, order.durable, nodeLease, told)',
    'standbyOf(files.outbox, true, nodeLease, told)',
  )
    .keeps('correction 5')
    .notices('tests/postgres/outage.test.ts', 'exactness 5'),
  row(
    'whoever owes does not say that nothing is left',
    'server/cluster/heartbeat.ts',
    'if (!owes) await alone((on) => noteLeft',
    'await alone((on) => noteLeft',
  )
    .keeps('correction 5')
    .notices('tests/postgres/leaving.test.ts'),
  row('an outbox is one node’s', 'db/outbox-file.ts', "raw.pragma('locking_mode = EXCLUSIVE');", '')
    .keeps('correction 5')
    .notices('tests/ledger/standby.test.ts', 'an outbox is one'),
  row(
    'what commits late is read, whatever its number',
    'db/postgres/feed.ts',
    'AND NOT pg_visible_in_snapshot(xact, $1::pg_snapshot)',
    'AND xact >= pg_snapshot_xmax($1::pg_snapshot)',
  )
    .keeps('rule 8', 'correction 8')
    .notices('tests/postgres/feed.test.ts', 'section 8'),
  row(
    'only what every living node has read is forgotten',
    'db/postgres/feed.ts',
    'ORDER BY follows LIMIT 1',
    'ORDER BY follows DESC LIMIT 1',
  )
    .keeps('rule 8', 'correction 8')
    .notices('tests/postgres/feed.test.ts', 'only what every living node'),
  row(
    'money that lies elsewhere is not used up',
    'server/relay/admission/lease-client.ts',
    "if (loan === 'elsewhere' || loan === 'lent') return",
    "if (loan === 'lent') return",
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/relay/lender.test.ts'),
  row(
    'a deduction takes what nobody has leased',
    'db/ledger/postgres/batch.ts',
    "desk.moves(command.type === 'deduct' ? 'free' : 'all')",
    "desk.moves('all')",
  )
    .keeps('rule 5', 'correction 10')
    .notices('tests/postgres/ledger.test.ts', 'a deduction takes'),
  row(
    'what is leased of a key is within its budgets',
    'db/postgres/leases.ts',
    "const bounds = ['limit', 'day', 'month'] as const;",
    "const bounds = ['limit', 'day', 'month'].slice(0, 1) as readonly 'limit'[];",
  )
    .keeps('rule 5')
    .notices('tests/postgres/leases.test.ts', 'what is leased of a budget'),
  row(
    'what open requests hold outlives the life of a node',
    'db/postgres/nodes.ts',
    'const kept = held',
    'const kept = !held',
  )
    .keeps('rule 5', 'correction 3')
    .notices('tests/postgres/ledger.test.ts', 'what a thawed node'),
  row(
    'a lease runs from the sending of the last sign',
    'server/billing/leases/node-lease.ts',
    'set(Cell.steady, at.steady);',
    'set(Cell.steady, steady());',
  )
    .keeps('rule 5', 'correction 14')
    .notices('tests/relay/tenure.test.ts', 'the life of leases'),
  row(
    'by the clock that ran further',
    'server/billing/leases/node-lease.ts',
    'Math.max(steady() - get(Cell.steady), Math.abs(wall() - get(Cell.wall)))',
    '(steady() - get(Cell.steady))',
  )
    .keeps('rule 5', 'correction 14')
    .notices('tests/relay/tenure.test.ts', 'the life of leases'),
  row(
    'a pooler is noticed',
    'db/postgres/notifications.ts',
    'const heard = heardSelf().then(() => true);',
    'const heard = Promise.resolve(true);',
  )
    .keeps('rule 9', 'correction 15')
    .notices('tests/postgres/feed.test.ts', 'section 15'),
  row(
    'what is told is written down for those who hear nothing',
    'db/postgres/wire.ts',
    'WITH kept AS (INSERT INTO node_messages (text) VALUES ($2)) SELECT',
    'SELECT',
  )
    .keeps('rule 9', 'correction 15')
    .notices('tests/postgres/deaf.test.ts'),
  row('migrations run once', 'db/postgres/migrate.ts', /await sql`SELECT pg_advisory_xact_lock\([^;]*;/, '')
    .keeps('rule 9', 'correction 15')
    .notices('tests/postgres/words.test.ts', 'ten nodes'),
  row(
    'nothing is asked of a pooler at its door that it does not know',
    'db/postgres/open.ts',
    `onConnect: async (client) => void (await client.query("SET idle_in_transaction_session_timeout = '60s'")),`,
    'idle_in_transaction_session_timeout: 60_000,',
  )
    .keeps('rule 9', 'correction 15')
    .notices('tests/postgres/kept-statements.test.ts', 'a pooler lets in'),
  row(
    'a statement that was parsed for somebody else is parsed anew',
    'db/postgres/line.ts',
    'if (staleCodes.has(String(codeOf(failure)))) isStale = true;',
    '',
  )
    .keeps('rule 9', 'correction 15')
    .notices('tests/postgres/kept-statements.test.ts', 'the bills are written all the same'),
  row(
    'a sign of life is never answered by an earlier one',
    'db/ledger/postgres/store.ts',
    "if (committed && kind !== 'probe') found.set",
    'if (committed) found.set',
  )
    .keeps('rule 5', 'correction 14')
    .notices('tests/postgres/ledger.test.ts', 'a sign of life'),
  row(
    'a commit on one disk alone is not durable',
    'db/ledger/postgres/store.ts',
    "if (on.wasLocal() || last?.command !== 'COMMIT') {",
    "if (last?.command !== 'COMMIT') {",
  )
    .keeps('rule 7', 'correction 4', 'correction 13')
    .notices('tests/postgres/confirmed.test.ts'),
  row(
    'nor is it when a new connection finds it there',
    'db/postgres/nodes.ts',
    "if (line.wasLocal()) throw new Error(reasonText('standby_silent'));",
    '',
  )
    .keeps('rule 7', 'correction 4', 'correction 13')
    .notices('tests/postgres/confirmed.test.ts'),
  row(
    'every transaction of the books waits for the standby, whatever the server’s usual is',
    'db/postgres/nodes.ts',
    "synchronous_commit: 'on'",
    "synchronous_commit: 'local'",
  )
    .keeps('rule 7', 'correction 4', 'correction 13')
    .notices('tests/postgres/confirmed.test.ts'),
  row(
    'what cannot be kept for a failover is not committed',
    'db/ledger/postgres/store.ts',
    'if (work.commands.length > 0) deps.acknowledged.keep({ ...own, seq: next }, work.commands);',
    '',
  )
    .keeps('rule 7', 'correction 4')
    .notices('tests/postgres/ledger.test.ts', 'what cannot be kept'),
  row(
    'what was acknowledged is kept for as long as a copy may lag behind',
    'server/cluster/node-files.ts',
    'const keptForMs = 15 * 60_000;',
    'const keptForMs = 60_000;',
  )
    .keeps('rule 7', 'correction 4')
    .notices('tests/ledger/standby.test.ts', 'acknowledged batches'),
  row(
    'an answer counts for the question it answers',
    'server/billing/leases/leases.ts',
    'if (line === undefined || line.mark !== mark) return;',
    'if (line === undefined) return;',
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/ledger/recall.test.ts', 'an earlier recall'),
  row(
    'used up is told to who asked before it was found out',
    'server/billing/leases/leases.ts',
    'known.at >= since &&',
    '',
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/ledger/recall.test.ts', 'given after a refusal'),
  row(
    'what was to be given back and was not written goes back with the next',
    'server/billing/leases/leases.ts',
    "outgoing = [...moves.filter(({ type }) => type === 'give-back'), ...outgoing];",
    '',
  )
    .keeps('rule 1', 'rule 5')
    .notices('tests/ledger/recall.test.ts', 'given back'),
  row(
    'what was leased under another number is not in reach',
    'server/billing/leases/leases.ts',
    'const valid = grants !== null && under === epoch;',
    'const valid = grants !== null;',
  )
    .keeps('rule 1', 'rule 5')
    .notices('tests/ledger/recall.test.ts', 'under a number'),
  row(
    'a lease is a share of what is free',
    'db/postgres/leases.ts',
    'Math.min(use, Math.floor(room / (2 * nodes)))',
    'Math.min(use, room)',
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/ledger/grants.test.ts'),
  row(
    'of a small balance each request leases what it needs and no more',
    'db/postgres/leases.ts',
    '(funds?.left ?? 0) < smallFor * need ? 0 : ',
    '',
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/ledger/grants.test.ts'),
  row(
    'whoever came first is served first',
    'server/billing/leases/leases.ts',
    'line.waiting.push({ request: asked',
    'line.waiting.splice(1, 0, { request: asked',
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/postgres/leases.test.ts', 'in the order in which they came'),
  row('one question at a time for each account', 'server/billing/leases/leases.ts', 'if (line.asking) return;', '')
    .keeps('rule 6', 'correction 10')
    .notices('tests/ledger/recall.test.ts'),
  row(
    'what another node waits for goes back at once',
    'server/billing/leases/leases.ts',
    "give('account', account);\n      if (token > 0)",
    'if (token > 0)',
  )
    .keeps('rule 6', 'correction 10')
    .notices('tests/postgres/leases.test.ts', 'exactness 10'),
  row(
    'each node has its own row of what all users pay into',
    'db/ledger/postgres/writes.ts',
    'INSERT INTO account_parts AS p (account_id, balance, version, epoch) SELECT *, $4::bigint FROM',
    'INSERT INTO account_parts AS p (account_id, balance, version, epoch) SELECT *, 0 * $4::bigint FROM',
  )
    .keeps('correction 11')
    .notices('tests/postgres/side-by-side.test.ts', 'stands still'),
  row(
    'each node has its own row of what a channel has cost',
    'db/ledger/postgres/writes.ts',
    'SELECT v.*, $3::bigint FROM',
    'SELECT v.*, 0 * $3::bigint FROM',
  )
    .keeps('correction 11')
    .notices('tests/postgres/side-by-side.test.ts', 'stands still'),
  row(
    'a batch locks accounts in one order',
    'db/ledger/postgres/known.ts',
    "'SELECT id, balance, leased, version, overrun FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE'",
    "'SELECT id, balance, leased, version, overrun FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id DESC FOR UPDATE'",
  )
    .keeps('rule 5', 'correction 11')
    .notices('tests/postgres/side-by-side.test.ts', 'a batch locks'),
  row(
    'a batch locks accounts before keys',
    'db/ledger/postgres/known.ts',
    "if (accounts.size > 0)\n    ask(\n      'SELECT id, balance, leased",
    "ask('SELECT 1 FROM tokens WHERE id = ANY($1::bigint[]) FOR UPDATE', [numbers(sorted(wanted.tokens))], () => undefined);\n  if (accounts.size > 0)\n    ask(\n      'SELECT id, balance, leased",
  )
    .keeps('rule 5', 'correction 11')
    .notices('tests/postgres/side-by-side.test.ts', 'a batch locks'),
  row(
    'leases lock accounts in one order',
    'db/postgres/leases.ts',
    "FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE'",
    "FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id DESC FOR UPDATE'",
  )
    .keeps('rule 5', 'correction 11')
    .notices('tests/postgres/side-by-side.test.ts', 'leases locks'),
  row(
    'what settlements count up is no news',
    'db/schema/tables.ts',
    "followed: [\n        'name',\n        'key_hmac',",
    "followed: [\n        'used_quota',\n        'name',\n        'key_hmac',",
  )
    .keeps('correction 11')
    .notices('tests/postgres/side-by-side.test.ts', 'tells nobody'),
  row(
    'overrun is taken from the next credit',
    'server/billing/ledger/core.ts',
    'const owed = credit > 0 ? Math.min(amount, books.overrunOf(credit)) : 0;',
    'const owed = 0;',
  )
    .keeps('correction 12')
    .notices('tests/ledger/overrun.test.ts', 'overrun is taken'),
  row(
    'ends are durable nearby when a commit takes long',
    'server/billing/ledger/engine.ts',
    'if (standby?.durable !== true) return pending;',
    'if (pending !== undefined) return pending;',
  )
    .keeps('rule 10', 'correction 13')
    .notices('tests/ledger/standby.test.ts', 'exactness 13'),
  row(
    'nothing is let in while the oldest end waits for more than a second',
    'server/billing/ledger/client.ts',
    'return age < timeoutMs ? reported :',
    'return age >= 0 ? reported :',
  )
    .keeps('rule 10', 'correction 13')
    .notices('tests/ledger/client.test.ts', 'R14: paid work stops'),
  row(
    'a command that was refused waits no longer',
    'server/billing/ledger/client.ts',
    "waiting.delete(id);\n        if (typeof answer === 'string')",
    "if (typeof answer !== 'object' || answer === null) waiting.delete(id);\n        if (typeof answer === 'string')",
  )
    .keeps('rule 10', 'correction 13')
    .notices('tests/ledger/client.test.ts', 'R14: paid work stops'),
];
