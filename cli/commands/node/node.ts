/** The machines that serve a site together. */
import { AppError } from '../../../server/contract/errors.ts';
import { failureIn } from '../../../server/contract/storage-reasons.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import { moneyOf } from '../../parts/money.ts';

const megabyte = 1024 * 1024;
const formatValue = (value: number | null, unit: string): string => (value === null ? '' : `${value}${unit}`);

export const list: CommandRun = async (context) => {
  const { several, nodes } = await (await context.client()).call('node.list');
  if (!several)
    context.output.note(
      context.say('本站点只有一台机器（SQLite）', 'this site is one machine: its database is a file'),
    );
  const money = await moneyOf(context);
  context.output.list(
    nodes,
    [
      { name: 'node', value: (row) => row.name },
      {
        name: 'state',
        value: ({ state, trouble }) =>
          trouble === null ? state : `${state} (${failureIn(trouble, context.language)})`,
      },
      { name: 'version', value: (row) => row.version, priority: 1 },
      { name: 'started', value: (row) => isoTime(row.started_at), priority: 6 },
      { name: 'heard', value: (row) => `${row.silent_seconds}s`, right: true },
      { name: 'cpu', value: (row) => formatValue(row.cpu_percent, '%'), right: true, priority: 2 },
      {
        name: 'memory',
        value: (row) => formatValue(row.memory_bytes === null ? null : Math.round(row.memory_bytes / megabyte), 'M'),
        right: true,
        priority: 4,
      },
      { name: 'open', value: (row) => String(row.open), right: true },
      { name: 'leases', value: (row) => String(row.leases), right: true, priority: 3 },
      money.column('leased', (row) => row.leased_quota),
      { name: 'waiting', value: (row) => formatValue(row.waiting, ''), right: true },
      { name: 'lag', value: (row) => formatValue(row.news_ms, 'ms'), right: true, priority: 5 },
    ],
    (row) => row.name,
  );
};

export const drain: CommandRun = async (context, _flags, name) => {
  await context.confirm(
    context.say(`让节点 ${name} 处理完现有请求后退出？`, `Let node ${name} finish what it has and end?`),
  );
  await (await context.client()).call('node.drain', { name });
  const node = (await nodesOf(context)).find((one) => one.name === name);
  const seconds = node?.gone_seconds ?? null;
  if (seconds !== null)
    context.output.note(
      context.say(
        `${name} 已 ${node?.silent_seconds} 秒没有心跳。若其进程已结束，其租约在 ${seconds} 秒后到期，之后用 gateway node forget ${name} 移除`,
        `${name} was last heard of ${node?.silent_seconds} s ago. If its process has ended, its leases end in ${seconds} s: take it off the list then with gateway node forget ${name}`,
      ),
    );
  context.output.object({ result: 'draining', name }, [context.say(`${name} 正在退出`, `${name} is draining`)], name);
};

type NodeView = Awaited<ReturnType<typeof nodesOf>>[number];
const nodesOf = async (context: Context) => (await (await context.client()).call('node.list')).nodes;

/** What is given up with it. */
async function lostRequests(context: Context, node: NodeView): Promise<readonly string[]> {
  const { open, leased_quota, waiting } = node;
  const seconds = node.settles_seconds ?? 0;
  const held = (await moneyOf(context)).of(leased_quota);
  return [
    ...(open === 0
      ? []
      : [
          context.say(
            `${open} 个请求仍未结束，为其占用 ${held}：${seconds} 秒内按已见到的部分记账`,
            `${open} requests open, ${held} held for them: billed as far as they were seen, within ${seconds} seconds`,
          ),
        ]),
    waiting === null
      ? context.say('它从未报告过未提交账单的数量', 'it never said how many bills it has not sent')
      : context.say(
          `最近一次心跳时未提交的账单：${waiting} 笔`,
          `bills not sent when it was last heard of: ${waiting}`,
        ),
  ];
}

export const removeNode: CommandRun = async (context, flags, name) => {
  const [writeOff, later] = [flags.writeOff === true, flags.whenSettled === true];
  if (writeOff && later) throw new AppError('usage', { detail: '--write-off --when-settled' });
  const node = (await nodesOf(context)).find((one) => one.name === name);
  if (node?.owes === true && (writeOff || later))
    for (const line of await lostRequests(context, node)) context.output.note(line);
  await context.confirm(
    writeOff || later
      ? context.say(
          `移除节点 ${name}，并放弃其磁盘上可能尚未入账的账单？`,
          `Forget node ${name}, and give up the bills that its disk may still hold?`,
        )
      : context.say(`移除节点 ${name}？`, `Forget node ${name}?`),
  );
  await (await context.client()).call('node.forget', { name, write_off: writeOff, when_settled: later });
  const seconds = later ? (node?.settles_seconds ?? 0) : 0;
  context.output.object(
    { result: seconds > 0 ? 'forgetting' : 'forgotten', name, seconds },
    [
      seconds > 0
        ? context.say(`${seconds} 秒后移除 ${name}`, `${name} is forgotten in ${seconds} seconds`)
        : context.say(`已移除 ${name}`, `${name} is forgotten`),
    ],
    name,
  );
};
