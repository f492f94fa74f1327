/** What the state of a shared database server means for money and news, and what to do about it. */
import type { ServerFacts } from '../../../db/server-facts.ts';
import type { Language } from '../../contract/enums.ts';
import { sayIn } from '../../contract/singular.ts';

export interface Advice {
  readonly check: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do, '' = nothing. */
  readonly fix: string;
}

type Rule = (facts: ServerFacts, say: ReturnType<typeof sayIn>) => Advice;

const fine = (check: string, detail: string): Advice => ({ check, result: 'ok', detail, fix: '' });
const warn = (check: string, detail: string, fix: string): Advice => ({ check, result: 'warn', detail, fix });
const fail = (check: string, detail: string, fix: string): Advice => ({ check, result: 'fail', detail, fix });

const stallSeconds = 60;
const clockMs = { warn: 2000, fail: 60_000 };

const disk: Rule = ({ fsync, fullPages }, say) => {
  if (fsync !== 'on')
    return fail(
      'durability',
      say('fsync 已关闭：服务器崩溃会丢失账单', 'fsync is off: a crash of the server loses charges'),
      'ALTER SYSTEM SET fsync = on',
    );
  if (fullPages !== 'on')
    return warn(
      'durability',
      say('full_page_writes 已关闭：崩溃可能损坏数据页', 'full_page_writes is off: a crash may damage pages'),
      'ALTER SYSTEM SET full_page_writes = on',
    );
  return fine('durability', say('每次提交在答复前已写入磁盘', 'every commit is on the disk before it is answered'));
};

const standby: Rule = ({ standbyNames, standbys, syncStandbys, unseenStandbys }, say) => {
  const check = 'standby';
  if (standbyNames === '')
    return standbys === 0
      ? fine(
          check,
          say('没有备用服务器：服务器磁盘丢失的数据无法找回', 'none: what the disk of the server loses is lost'),
        )
      : warn(
          check,
          say(
            `故障切换可能丢失最近几秒：${standbys} 台备用服务器均不等待确认`,
            `a failover may lose the last seconds: none of ${standbys} standbys is waited for`,
          ),
          "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'",
        );
  if (syncStandbys > 0)
    return fine(
      check,
      say(`${standbys} 台中有 ${syncStandbys} 台确认每次提交`, `${syncStandbys} of ${standbys} confirm each commit`),
    );
  if (unseenStandbys > 0)
    return warn(
      check,
      say('当前数据库角色看不到其状态', 'their state is hidden from this role'),
      'GRANT pg_monitor TO CURRENT_USER',
    );
  return fail(
    check,
    say(
      `没有备用服务器确认（${standbyNames}）：提交会一直等待`,
      `no standby confirms (${standbyNames}): commits wait forever`,
    ),
    say('启动其中一台', 'start one of them'),
  );
};

const news: Rule = ({ hears, direct }, say) => {
  if (hears) return fine('news', direct ? say('NOTIFY，绕过连接池', 'NOTIFY, around the pooler') : 'NOTIFY');
  return warn(
    'news',
    say(
      'NOTIFY 无法送达，连接池按事务分配连接：变更和其他节点的需求改为每 250 毫秒查询一次',
      'NOTIFY does not arrive, a pooler lends connections by the transaction: news, and what other nodes want, are asked for every 250 ms',
    ),
    'DATABASE_DIRECT_URL=postgres://…',
  );
};

const stall: Rule = ({ oldest }, say) => {
  if (oldest === null || oldest.seconds < stallSeconds) return fine('transactions', '');
  const name = oldest.name === '' ? '' : ` (${oldest.name})`;
  return warn(
    'transactions',
    say(
      `${oldest.database} 中的进程 ${oldest.pid}${name} 的事务已打开 ${oldest.seconds} 秒：旧数据无法清理`,
      `process ${oldest.pid}${name} in ${oldest.database} has kept one open for ${oldest.seconds} s: changes cannot be forgotten`,
    ),
    `SELECT pg_terminate_backend(${oldest.pid})`,
  );
};

const clock: Rule = ({ aheadMs }, say) => {
  const off = Math.abs(aheadMs);
  const seconds = (off / 1000).toFixed(1);
  const detail =
    aheadMs > 0
      ? say(`比数据库服务器快 ${seconds} 秒`, `${seconds} s ahead of the server`)
      : say(`比数据库服务器慢 ${seconds} 秒`, `${seconds} s behind the server`);
  if (off > clockMs.fail) return fail('clock', detail, 'timedatectl set-ntp true');
  return off > clockMs.warn ? warn('clock', detail, 'timedatectl set-ntp true') : fine('clock', detail);
};

const months: Rule = ({ monthsMissing, strayLogs }, say) => {
  if (monthsMissing.length > 0)
    return fail('log partitions', `${say('缺少：', 'missing: ')}${monthsMissing.join(', ')}`, 'gateway serve');
  const strays =
    strayLogs === 1000 ? say('1000 行或更多', '1000 or more rows') : say(`${strayLogs} 行`, `${strayLogs} rows`);
  return strayLogs > 0
    ? warn(
        'log partitions',
        say(`logs_rest 中有 ${strays}日志不属于任何月份`, `logs_rest holds ${strays} that belong to no month`),
        'gateway serve',
      )
    : fine('log partitions', say('本月和下月的分区均已建立', 'this month and the next are there'));
};

const connections: Rule = ({ mostConnections, connections: used, ownConnections, liveNodes }, say) => {
  const each = Math.ceil(ownConnections / Math.max(1, liveNodes));
  const detail = say(
    `${used}/${mostConnections}，其中 ${ownConnections} 个来自 ${liveNodes} 个节点`,
    `${used} of ${mostConnections}, ${ownConnections} of them from ${liveNodes} nodes`,
  );
  const left = mostConnections - used;
  if (left <= 2) return fail('connections', detail, 'ALTER SYSTEM SET max_connections = 200');
  return left < each
    ? warn(
        'connections',
        `${detail}${say('：不足以再加一个节点', ': none left for another node')}`,
        'ALTER SYSTEM SET max_connections = 200',
      )
    : fine('connections', detail);
};

const isolation: Rule = ({ isolation: level }) =>
  level === 'read committed'
    ? fine('isolation', level)
    : fail('isolation', level, "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'read committed'");

const vacuum: Rule = ({ autovacuum }, say) =>
  autovacuum === 'on'
    ? fine('autovacuum', autovacuum)
    : warn(
        'autovacuum',
        say('已关闭：表会膨胀并变慢', 'off: tables grow and slow down'),
        'ALTER SYSTEM SET autovacuum = on',
      );

const wire: Rule = ({ encrypted, local }, say) =>
  encrypted || local
    ? fine('wire', encrypted ? 'TLS' : say('本机', 'this machine'))
    : warn(
        'wire',
        say('未加密，且服务器在另一台机器上', 'not encrypted, and the server is another machine'),
        'DATABASE_URL=…?sslmode=verify-full',
      );

const nodes: Rule = ({ liveNodes, versions }, say) => {
  const mixed = versions > 1 ? say(`，${versions} 个版本`, `, of ${versions} versions`) : '';
  return fine('nodes', `${say(`在线 ${liveNodes} 个`, `${liveNodes} live`)}${mixed}`);
};

const rules: readonly Rule[] = [disk, standby, news, stall, clock, months, connections, isolation, vacuum, wire, nodes];

export const serverAdvice = (facts: ServerFacts, language: Language): Advice[] =>
  rules.map((rule) => rule(facts, sayIn(language)));
