/** What the state of a shared database server means for money and news, and what to do about it. */
import type { ServerFacts } from '../../../db/server-facts.ts';

export interface Advice {
  readonly check: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do, '' = nothing. */
  readonly fix: string;
}

type Rule = (facts: ServerFacts) => Advice;

const fine = (check: string, detail: string): Advice => ({ check, result: 'ok', detail, fix: '' });
const warn = (check: string, detail: string, fix: string): Advice => ({ check, result: 'warn', detail, fix });
const fail = (check: string, detail: string, fix: string): Advice => ({ check, result: 'fail', detail, fix });

const stallSeconds = 60;
const clockMs = { warn: 2000, fail: 60_000 };

const disk: Rule = ({ fsync, fullPages }) => {
  if (fsync !== 'on')
    return fail('durability', 'fsync is off: a crash of the server loses charges', 'ALTER SYSTEM SET fsync = on');
  if (fullPages !== 'on')
    return warn(
      'durability',
      'full_page_writes is off: a crash may damage pages',
      'ALTER SYSTEM SET full_page_writes = on',
    );
  return fine('durability', 'every commit is on the disk before it is answered');
};

const standby: Rule = ({ standbyNames, standbys, syncStandbys, unseenStandbys }) => {
  const check = 'standby';
  if (standbyNames === '')
    return standbys === 0
      ? fine(check, 'none: what the server’s disk loses is lost')
      : warn(
          check,
          `a failover may lose the last seconds: none of ${standbys} standbys is waited for`,
          "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'",
        );
  if (syncStandbys > 0) return fine(check, `${syncStandbys} of ${standbys} confirm each commit`);
  if (unseenStandbys > 0)
    return warn(check, 'their state is hidden from this role', 'GRANT pg_monitor TO CURRENT_USER');
  return fail(check, `no standby confirms (${standbyNames}): commits wait for ever`, 'start one of them');
};

const news: Rule = ({ hears, direct }) => {
  if (hears) return fine('news', direct ? 'NOTIFY, around the pooler' : 'NOTIFY');
  return warn(
    'news',
    'NOTIFY does not arrive, a pooler lends connections by the transaction: news, and what other nodes want, are asked for every 250 ms',
    'DATABASE_DIRECT_URL=postgres://…',
  );
};

const stall: Rule = ({ oldest }) => {
  if (oldest === null || oldest.seconds < stallSeconds) return fine('transactions', '');
  const who = `process ${oldest.pid}${oldest.name === '' ? '' : ` (${oldest.name})`} in ${oldest.database}`;
  return warn(
    'transactions',
    `${who} has kept one open for ${oldest.seconds} s: changes cannot be forgotten`,
    `SELECT pg_terminate_backend(${oldest.pid})`,
  );
};

const clock: Rule = ({ aheadMs }) => {
  const off = Math.abs(aheadMs);
  const detail = `${(off / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the server`;
  if (off > clockMs.fail) return fail('clock', detail, 'timedatectl set-ntp true');
  return off > clockMs.warn ? warn('clock', detail, 'timedatectl set-ntp true') : fine('clock', detail);
};

const months: Rule = ({ monthsMissing, strayLogs }) => {
  if (monthsMissing.length > 0) return fail('log partitions', `missing: ${monthsMissing.join(', ')}`, 'gateway serve');
  return strayLogs > 0
    ? warn(
        'log partitions',
        `${strayLogs === 1000 ? '1000 or more' : strayLogs} rows lie in logs_rest, in no month`,
        'gateway serve',
      )
    : fine('log partitions', 'this month and the next are there');
};

const connections: Rule = ({ mostConnections, connections: used, ownConnections, liveNodes }) => {
  const each = Math.ceil(ownConnections / Math.max(1, liveNodes));
  const detail = `${used} of ${mostConnections}, ${ownConnections} of them from ${liveNodes} nodes`;
  const left = mostConnections - used;
  if (left <= 2) return fail('connections', detail, 'ALTER SYSTEM SET max_connections = 200');
  return left < each
    ? warn('connections', `${detail}: none left for another node`, 'ALTER SYSTEM SET max_connections = 200')
    : fine('connections', detail);
};

const isolation: Rule = ({ isolation: level }) =>
  level === 'read committed'
    ? fine('isolation', level)
    : fail('isolation', level, "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'read committed'");

const vacuum: Rule = ({ autovacuum }) =>
  autovacuum === 'on'
    ? fine('autovacuum', autovacuum)
    : warn('autovacuum', 'off: tables grow and slow down', 'ALTER SYSTEM SET autovacuum = on');

const wire: Rule = ({ encrypted, local }) =>
  encrypted || local
    ? fine('wire', encrypted ? 'TLS' : 'this machine')
    : warn('wire', 'not encrypted, and the server is another machine', 'DATABASE_URL=…?sslmode=verify-full');

const nodes: Rule = ({ liveNodes, versions }) =>
  fine('nodes', `${liveNodes} live${versions > 1 ? `, of ${versions} versions` : ''}`);

const rules: readonly Rule[] = [disk, standby, news, stall, clock, months, connections, isolation, vacuum, wire, nodes];

export const serverAdvice = (facts: ServerFacts): Advice[] => rules.map((rule) => rule(facts));
