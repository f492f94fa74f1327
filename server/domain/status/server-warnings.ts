/** What the state of a shared database server means for money and news, and what to do about it. */
import type { ServerStatus } from '../../../db/server-status.ts';
import type { Language } from '../../contract/enum.ts';
import { localizer } from '../../contract/plural.ts';

export interface Warning {
  readonly check: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do, '' = nothing. */
  readonly fix: string;
}

type Rule = (details: ServerStatus, localize: ReturnType<typeof localizer>) => Warning;

const ok = (check: string, detail: string): Warning => ({ check, result: 'ok', detail, fix: '' });
const warn = (check: string, detail: string, fix: string): Warning => ({ check, result: 'warn', detail, fix });
const fail = (check: string, detail: string, fix: string): Warning => ({ check, result: 'fail', detail, fix });

const maxOpenSeconds = 60;
const clockMs = { warn: 2000, fail: 60_000 };

const disk: Rule = ({ fsync, fullPages }, localize) => {
  if (fsync !== 'on')
    return fail(
      'durability',
      localize('fsync 已关闭：服务器崩溃会丢失账单', 'fsync is off: a crash of the server loses charges'),
      'ALTER SYSTEM SET fsync = on',
    );
  if (fullPages !== 'on')
    return warn(
      'durability',
      localize('full_page_writes 已关闭：崩溃可能损坏数据页', 'full_page_writes is off: a crash may damage pages'),
      'ALTER SYSTEM SET full_page_writes = on',
    );
  return ok('durability', localize('每次提交在答复前已写入磁盘', 'every commit is on the disk before it is answered'));
};

const standby: Rule = ({ standbyNames, standbys, syncStandbys, hiddenStandbys }, localize) => {
  const check = 'standby';
  if (standbyNames === '')
    return standbys === 0
      ? ok(
          check,
          localize('没有备用服务器：服务器磁盘丢失的数据无法找回', 'none: what the disk of the server loses is lost'),
        )
      : warn(
          check,
          localize(
            `故障切换可能丢失最近几秒：${standbys} 台备用服务器均不等待确认`,
            `a failover may lose the last seconds: none of ${standbys} standbys is waited for`,
          ),
          "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'",
        );
  if (syncStandbys > 0)
    return ok(
      check,
      localize(
        `${standbys} 台中有 ${syncStandbys} 台确认每次提交`,
        `${syncStandbys} of ${standbys} confirm each commit`,
      ),
    );
  if (hiddenStandbys > 0)
    return warn(
      check,
      localize('当前数据库角色看不到其状态', 'their state is hidden from this role'),
      'GRANT pg_monitor TO CURRENT_USER',
    );
  return fail(
    check,
    localize(
      `没有备用服务器确认（${standbyNames}）：提交会一直等待`,
      `no standby confirms (${standbyNames}): commits wait forever`,
    ),
    localize('启动其中一台', 'start one of them'),
  );
};

const notifications: Rule = ({ isListening, direct }, localize) => {
  if (isListening) return ok('news', direct ? localize('NOTIFY，绕过连接池', 'NOTIFY, around the pooler') : 'NOTIFY');
  return warn(
    'news',
    localize(
      'NOTIFY 无法送达，连接池按事务分配连接：变更和其他节点的需求改为每 250 毫秒查询一次',
      'NOTIFY does not arrive because a pooler assigns connections per transaction: changes and requests of other nodes are polled every 250 ms',
    ),
    'DATABASE_DIRECT_URL=postgres://…',
  );
};

const stalled: Rule = ({ oldest }, localize) => {
  if (oldest === null || oldest.seconds < maxOpenSeconds) return ok('transactions', '');
  const name = oldest.name === '' ? '' : ` (${oldest.name})`;
  return warn(
    'transactions',
    localize(
      `${oldest.database} 中的进程 ${oldest.pid}${name} 的事务已打开 ${oldest.seconds} 秒：旧数据无法清理`,
      `process ${oldest.pid}${name} in ${oldest.database} has kept one open for ${oldest.seconds} s: old changes cannot be removed`,
    ),
    `SELECT pg_terminate_backend(${oldest.pid})`,
  );
};

const clock: Rule = ({ clockLeadMs }, localize) => {
  const off = Math.abs(clockLeadMs);
  const seconds = (off / 1000).toFixed(1);
  const detail =
    clockLeadMs > 0
      ? localize(`比数据库服务器快 ${seconds} 秒`, `${seconds} s ahead of the server`)
      : localize(`比数据库服务器慢 ${seconds} 秒`, `${seconds} s behind the server`);
  if (off > clockMs.fail) return fail('clock', detail, 'timedatectl set-ntp true');
  return off > clockMs.warn ? warn('clock', detail, 'timedatectl set-ntp true') : ok('clock', detail);
};

const months: Rule = ({ monthsMissing, unassignedLogs }, localize) => {
  if (monthsMissing.length > 0)
    return fail('log partitions', `${localize('缺少：', 'missing: ')}${monthsMissing.join(', ')}`, 'gateway serve');
  const strays =
    unassignedLogs === 1000
      ? localize('1000 行或更多', '1000 or more rows')
      : localize(`${unassignedLogs} 行`, `${unassignedLogs} rows`);
  return unassignedLogs > 0
    ? warn(
        'log partitions',
        localize(`logs_rest 中有 ${strays}日志不属于任何月份`, `logs_rest holds ${strays} that belong to no month`),
        'gateway serve',
      )
    : ok('log partitions', localize('本月和下月的分区均已建立', 'this month and the next are there'));
};

const connections: Rule = ({ maxConnections, connections: used, ownConnections, liveNodes }, localize) => {
  const each = Math.ceil(ownConnections / Math.max(1, liveNodes));
  const detail = localize(
    `${used}/${maxConnections}，其中 ${ownConnections} 个来自 ${liveNodes} 个节点`,
    `${used} of ${maxConnections}, ${ownConnections} of them from ${liveNodes} nodes`,
  );
  const left = maxConnections - used;
  if (left <= 2) return fail('connections', detail, 'ALTER SYSTEM SET max_connections = 200');
  return left < each
    ? warn(
        'connections',
        `${detail}${localize('：不足以再加一个节点', ': none left for another node')}`,
        'ALTER SYSTEM SET max_connections = 200',
      )
    : ok('connections', detail);
};

const isolation: Rule = ({ isolation: level }) =>
  level === 'read committed'
    ? ok('isolation', level)
    : fail('isolation', level, "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'read committed'");

const vacuum: Rule = ({ autovacuum }, localize) =>
  autovacuum === 'on'
    ? ok('autovacuum', autovacuum)
    : warn(
        'autovacuum',
        localize('已关闭：表会膨胀并变慢', 'off: tables grow and slow down'),
        'ALTER SYSTEM SET autovacuum = on',
      );

const wire: Rule = ({ encrypted, local }, localize) =>
  encrypted || local
    ? ok('wire', encrypted ? 'TLS' : localize('本机', 'this machine'))
    : warn(
        'wire',
        localize('未加密，且服务器在另一台机器上', 'not encrypted, and the server is another machine'),
        'DATABASE_URL=…?sslmode=verify-full',
      );

const nodes: Rule = ({ liveNodes, versions }, localize) => {
  const mixed = versions > 1 ? localize(`，${versions} 个版本`, `, of ${versions} versions`) : '';
  return ok('nodes', `${localize(`在线 ${liveNodes} 个`, `${liveNodes} live`)}${mixed}`);
};

const rules: readonly Rule[] = [
  disk,
  standby,
  notifications,
  stalled,
  clock,
  months,
  connections,
  isolation,
  vacuum,
  wire,
  nodes,
];

export const serverWarnings = (details: ServerStatus, language: Language): Warning[] =>
  rules.map((rule) => rule(details, localizer(language)));
