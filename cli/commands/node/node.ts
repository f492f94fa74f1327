/** The machines that serve a site together. */
import type { CommandRun } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { moneyOf } from '../../parts/money.ts';

const megabyte = 1024 * 1024;
const told = (value: number | null, unit: string): string => (value === null ? '' : `${value}${unit}`);

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
      { name: 'state', value: (row) => (row.trouble === '' ? row.state : `${row.state} (${row.trouble})`) },
      { name: 'version', value: (row) => row.version },
      { name: 'started', value: (row) => isoTime(row.started_at) },
      { name: 'heard', value: (row) => `${row.silent_seconds}s`, right: true },
      { name: 'cpu', value: (row) => told(row.cpu_percent, '%'), right: true },
      {
        name: 'memory',
        value: (row) => told(row.memory_bytes === null ? null : Math.round(row.memory_bytes / megabyte), 'M'),
        right: true,
      },
      { name: 'open', value: (row) => String(row.open), right: true },
      { name: 'leases', value: (row) => String(row.leases), right: true },
      money.column('leased', (row) => row.leased_quota),
      { name: 'waiting', value: (row) => told(row.waiting, ''), right: true },
      { name: 'lag', value: (row) => told(row.news_ms, 'ms'), right: true },
    ],
    (row) => row.name,
  );
};

export const drain: CommandRun = async (context, _flags, name) => {
  await context.confirm(
    context.say(`让节点 ${name} 处理完现有请求后退出？`, `Let node ${name} finish what it has and end?`),
  );
  await (await context.client()).call('node.drain', { name });
  context.output.object({ result: 'draining', name }, [context.say(`${name} 正在退出`, `${name} is draining`)], name);
};

export const forget: CommandRun = async (context, flags, name) => {
  const writeOff = flags.writeOff === true;
  await context.confirm(
    writeOff
      ? context.say(
          `移除节点 ${name}，并放弃其磁盘上可能尚未入账的账单？`,
          `Forget node ${name}, and give up the bills that its disk may still hold?`,
        )
      : context.say(`移除节点 ${name}？`, `Forget node ${name}?`),
  );
  await (await context.client()).call('node.forget', { name, write_off: writeOff });
  context.output.object({ result: 'forgotten', name }, [context.say(`已移除 ${name}`, `${name} is forgotten`)], name);
};
