/** Which log rows a command speaks of, and how rows look in a terminal. */
import type { Log } from '../../../server/contract/entities.ts';
import type { Language } from '../../../server/contract/enum.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { type NameKind, nameKinds } from '../../../server/contract/names.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { allOrOwn, type Client } from '../../client.ts';
import { type Flag, type FlagValues, text } from '../../command.ts';
import type { Columns } from '../../parts/list-output.ts';
import type { Money } from '../../parts/money.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { pastTime } from '../../parts/when.ts';

const types = ['unknown', 'topup', 'consume', 'manage', 'system', 'error'] as const;

export const columns = (_money: Money, language: Language): Columns<Log> => ({
  id: 'id',
  time: 'created_at',
  type: (row) => types[row.type] ?? 'unknown',
  user: 'username',
  token: [(row) => storedIn(row.token_name, language), 1],
  model: 'model_name',
  channel: { value: (row) => (row.channel === 0 ? '' : String(row.channel)), right: true, priority: 2 },
  in: 'prompt_tokens',
  out: 'completion_tokens',
  quota: { value: (row) => String(row.quota), right: true, priority: 3 },
  cost: 'quota',
});

export const filterFlags: readonly Flag[] = [
  {
    flag: '--type <name>',
    zh: '类型：topup、consume、manage、system、error',
    en: 'topup, consume, manage, system, error',
  },
  { flag: '--model <name>', zh: '模型', en: 'model' },
  { flag: '--user <name>', zh: '用户', en: 'user' },
  { flag: '--token <name>', zh: '令牌名称', en: "token's name" },
  { flag: '--channel <id>', zh: '渠道编号', en: 'channel id' },
  { flag: '--agent <name>', zh: '代理：claude-code、codex 等', en: 'agent: claude-code, codex, …' },
  { flag: '--session <name>', zh: '会话', en: 'session' },
  { flag: '--project <name>', zh: '项目', en: 'project' },
  { flag: '--end-user <name>', zh: '最终用户', en: 'end user' },
  { flag: '--subagent <name>', zh: '子代理', en: 'subagent' },
  { flag: '--prompt <name>', zh: '一次提问', en: 'one prompt' },
  { flag: '--since <time>', zh: '起始：10m、2h、日期', en: 'from: 10m, 2h, a date' },
  { flag: '--until <time>', zh: '截止：10m、2h、日期', en: 'to: 10m, 2h, a date' },
];

/** Of rows that the server looks up: a row does not say which labels its key has. */
export const labelFlag: Flag = { flag: '--label <name>', zh: '令牌标签', en: 'label of keys' };

type NameQuery = Readonly<Record<NameKind, string | undefined>>;

export interface LogQuery extends NameQuery {
  readonly type: number | undefined;
  readonly model_name: string | undefined;
  readonly username: string | undefined;
  readonly token_name: string | undefined;
  readonly label: string | undefined;
  readonly channel: number | undefined;
  readonly start_timestamp: number | undefined;
  readonly end_timestamp: number | undefined;
}

/** Conditions of the tail alone. */
export interface TailQuery extends LogQuery {
  /** Seconds. */
  readonly slow: number;
  readonly ended: string | undefined;
  /** `429`, or `5xx` for all of a hundred. */
  readonly status: string | undefined;
}

/** @throws AppError usage */
export function tailQueryOf(flags: FlagValues, now: number): TailQuery {
  const slow = Number((text(flags.slow) ?? '0').replace(/s$/, ''));
  if (!Number.isFinite(slow)) throw new AppError('usage', { detail: `--slow ${text(flags.slow)}: 5s` });
  const status = text(flags.status)?.toLowerCase();
  if (status !== undefined && !/^[1-5](\d\d|xx)$/.test(status))
    throw new AppError('usage', { detail: `--status ${status}: 200, 429, 5xx` });
  return { ...queryOf(flags, now), slow, ended: text(flags.ended), status };
}

/** @throws AppError usage */
export function queryOf(flags: FlagValues, now: number): LogQuery {
  const type = text(flags.type);
  const index = type === undefined ? undefined : types.indexOf(type as (typeof types)[number]);
  if (index === -1) throw new AppError('usage', { detail: `--type ${type}: ${types.slice(1).join(', ')}` });
  return {
    type: index,
    model_name: text(flags.model),
    username: text(flags.user),
    token_name: text(flags.token),
    label: text(flags.label),
    channel: wholeNumber(text(flags.channel), '--channel'),
    agent: text(flags.agent),
    session: text(flags.session),
    project: text(flags.project),
    end_user: text(flags.endUser),
    subagent: text(flags.subagent),
    prompt: text(flags.prompt),
    start_timestamp: pastTime(text(flags.since), '--since', now),
    end_timestamp: pastTime(text(flags.until), '--until', now),
  };
}

/** By id or request id. @throws AppError not_found */
export const logRow = (client: Client, ref: string): Promise<Log> =>
  allOrOwn(
    () => client.call('log.get', { ref }),
    () => client.call('log.self_get', { ref }),
  );

/** The status that the upstream answered with, or ours where no upstream was called; '' = there was no answer. */
function statusOf(row: Log): string {
  if (row.type === 2) return '200';
  return /"failure":"[a-z]+ (\d{3})"|"refused":"\w+","status":(\d{3})/.exec(row.other)?.slice(1).find(Boolean) ?? '';
}

const hasStatus = (row: Log, requested: string): boolean =>
  requested.endsWith('xx') ? statusOf(row)[0] === requested[0] : statusOf(row) === requested;

/** The same conditions, for rows that are here already. */
export const matches = (row: Log, query: TailQuery): boolean =>
  row.use_time >= query.slow &&
  (query.ended === undefined || row.end_reason === query.ended) &&
  (query.status === undefined || hasStatus(row, query.status)) &&
  (query.type === undefined || row.type === query.type) &&
  (query.model_name === undefined || row.model_name === query.model_name) &&
  (query.username === undefined || row.username === query.username) &&
  (query.token_name === undefined || row.token_name === query.token_name) &&
  (query.channel === undefined || row.channel === query.channel) &&
  nameKinds.every((kind) => query[kind] === undefined || row.names?.[kind] === query[kind]) &&
  (query.start_timestamp === undefined || row.created_at >= query.start_timestamp) &&
  (query.end_timestamp === undefined || row.created_at <= query.end_timestamp);
