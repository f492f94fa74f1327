/** What machines do in company beside the books: work in turns, rates, news of channels, leaving. */
import { type Break, row } from './row.ts';

export const company: readonly Break[] = [
  row(
    'jobs: whoever works has the turn for itself',
    'db/postgres/job-lock.ts',
    'WHERE jobs.held_until < clock_timestamp() AND jobs.due',
    'WHERE jobs.due',
  ).notices('tests/postgres/peers.test.ts', 'who did it last'),
  row(
    'jobs: what is done is not due again',
    'db/postgres/job-lock.ts',
    'AND jobs.due <= clock_timestamp()',
    "AND jobs.due <= timestamptz 'infinity'",
  ).notices('tests/postgres/peers.test.ts', 'a job is done once'),
  row(
    'jobs: whoever died in the middle is not waited for',
    'db/postgres/job-lock.ts',
    'const heldSeconds = 30;',
    'const heldSeconds = 3000;',
  ).notices('tests/postgres/peers.test.ts', 'who did it last'),
  row(
    'rates: all nodes count in one window',
    'server/cluster/redis.ts',
    'keys.map((key) => prefix + key)',
    'keys.map((key) => prefix + Math.random() + key)',
  ).notices('tests/postgres/rates.test.ts', '300 requests'),
  row(
    'rates: one window that refuses counts in none',
    'server/relay/admission/site-rates.ts',
    'if most >= 0 and sum + math.max(adds, least) > most then',
    "redis.call('HINCRBY', KEYS[at], newest, 1)\n  if most >= 0 and sum + math.max(adds, least) > most then",
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
    'rates: a node that drains keeps its share',
    'db/postgres/members.ts',
    "WHERE state <> 'expired' OR figures <> '{}' AND expires_at > clock_timestamp() - make_interval(secs => $1)",
    "WHERE state = 'live' AND $1 > 0",
  ).notices('tests/postgres/peers.test.ts', 'limits are shared'),
  row(
    'rates: what a node has let in counts for a minute after it has gone',
    'db/postgres/members.ts',
    'const windowSeconds = 60;',
    'const windowSeconds = -60;',
  ).notices('tests/postgres/peers.test.ts', 'limits are shared'),
  row(
    'rates: without a server each node has its share',
    'server/relay/admission/limits.ts',
    'const among = this.nodes?.() ?? 1;',
    'const among = 1;',
  ).notices('tests/postgres/rates.test.ts', 'without anybody who counts'),
  row(
    'gossip: a wait is told as how long it lasts',
    'server/threads/control/health-broadcast.ts',
    "items.flatMap((item) => (item[0] === 'c' ? [shifted(item[1], now)] : []))",
    "items.flatMap((item) => (item[0] === 'c' ? [item[1]] : []))",
  ).notices('tests/postgres/peers.test.ts', 'what one machine learns'),
  row(
    'gossip: nobody learns from itself',
    'server/threads/control/health-broadcast.ts',
    'if (from === deps.from) return null;',
    '',
  ).notices('tests/postgres/peers.test.ts', 'a flood of conversations'),
  row(
    'gossip: a notice fits',
    'server/threads/control/health-broadcast.ts',
    'if (size + bytes > mostBytes) close();',
    '',
  ).notices('tests/postgres/peers.test.ts', 'a flood of conversations'),
  row(
    'the grace: whoever comes before the balancer has noticed is served',
    'server/app/shutdown.ts',
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
  ).notices('tests/postgres/peers.test.ts', 'forgotten when what it left open'),
];
