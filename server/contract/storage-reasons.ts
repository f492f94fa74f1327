/** Why paid work is stopped to protect the ledger. It is logged in English where it is noticed; what a node reports is kept as a code and worded in its reader's language. */
import type { Language } from './enum.ts';
import { textIn } from './language.ts';

interface Reason {
  readonly zh: string;
  readonly en: string;
}

/** `{name}` = what varies; `detail` = words of a disk, a driver or a server. */
export const storageReasons = {
  unconfirmed: { zh: '已写入的数据未得到磁盘确认', en: 'the disk does not confirm what is written' },
  crowded: { zh: '{count} 条账务指令等待写入', en: 'commands that wait to be written: {count}' },
  behind: { zh: '已确认的账目迟迟未写入数据库', en: 'what is confirmed does not reach the database' },
  ledger_gone: { zh: '账本线程已终止', en: 'the ledger is gone' },
  standby_silent: { zh: '备用服务器未确认提交', en: 'the standby does not confirm' },
  database_away: { zh: '数据库暂时无法访问', en: 'the database cannot be reached' },
  commit_unknown: { zh: '数据库未答复提交是否成功', en: 'the database did not say whether it committed' },
  declared_gone: { zh: '本节点已被判定为离线', en: 'this node was declared gone' },
  tenure_over: { zh: '已过久未收到数据库的答复', en: 'the database has not been heard of for too long' },
  cut_off: {
    zh: '本节点与数据库失去联系，无法确认此令牌现在的权限',
    en: 'this node is cut off from the database and does not know what this key may do now',
  },
  thread_gone: { zh: '{thread} 线程已终止', en: 'the {thread} thread is gone' },
  copy_unkept: {
    zh: '本节点的磁盘（GATEWAY_OUTBOX 或数据目录）写不下账目的副本',
    en: 'the disk of GATEWAY_OUTBOX or the data directory does not take the copy of what is billed',
  },
  outbox_full: { zh: '待送账目的存放处已满', en: 'the outbox is full' },
  too_many: { zh: '同时进行的请求过多', en: 'too many requests at once' },
  unwritable: { zh: '账目暂时无法写入', en: 'the books cannot be written at the moment' },
  tasks: { zh: '任务无法保存', en: 'tasks cannot be kept' },
  /** All the others. */
  storage: { zh: '账目无法写入：{detail}', en: 'the books cannot be written: {detail}' },
} as const satisfies Record<string, Reason>;

export type StorageReason = keyof typeof storageReasons;

/** Codes of a newer version are unknown here. */
export interface StorageFailure {
  readonly code: string;
  readonly params: Readonly<Record<string, string | number>>;
}

const filled = (text: string, params: StorageFailure['params']): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));

/** In English, as it stands in the operator's log. */
export const reasonText = (
  name: Exclude<StorageReason, 'storage'>,
  params: Readonly<Record<string, string | number>> = {},
): string => filled(storageReasons[name].en, params);

const patterns = Object.entries(storageReasons).flatMap(([code, { en }]) =>
  code === 'storage' ? [] : [{ code, fits: new RegExp(`^${en.replace(/\{(\w+)\}/g, '(?<$1>\\w+)')}$`) }],
);

/** @param text as `reasonText` or another program has worded it. @returns null = '', all is well. */
export function failureOf(text: string): StorageFailure | null {
  if (text === '') return null;
  for (const { code, fits: matches } of patterns) {
    const found = matches.exec(text);
    if (found === null) continue;
    const params = Object.entries(found.groups ?? {}).map(
      ([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value] as const,
    );
    return { code, params: Object.fromEntries(params) };
  }
  return { code: 'storage', params: { detail: text } };
}

/** As callers read it: the words of a disk, a driver or a server are for the operator's log. */
export const callerReason = (text: string): string =>
  failureOf(text)?.code === 'storage' ? reasonText('unwritable') : text;

export function failureIn({ code, params }: StorageFailure, language: Language): string {
  if (Object.hasOwn(storageReasons, code))
    return filled(textIn(storageReasons[code as StorageReason], language), params);
  return [code, ...Object.values(params)].join(' ');
}

/** What is worded as `reasonText` does it, in another language; other texts stay as they are. */
export function reasonIn(text: string, language: Language): string {
  const failure = language === 'en' ? null : failureOf(text);
  return failure === null || failure.code === 'storage' ? text : failureIn(failure, language);
}
