/** Columns of the log that stand in the details of a request as they are. */

import type { Log } from './entities.ts';
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

const logColumns = {
  usage_source: { zh: '用量来源', en: 'Usage source' },
  end_reason: { zh: '结束原因', en: 'End reason' },
} as const satisfies { readonly [Name in keyof Log]?: Text };

/** What the values of those columns are called. */
const words: Readonly<Record<string, Readonly<Record<string, Text>>>> = {
  usage_source: {
    reported: { zh: '上游报告', en: 'reported by the upstream' },
    partial: { zh: '上游部分报告', en: 'reported in part' },
    estimated: { zh: '本站估算', en: 'counted here' },
    none: { zh: '无用量', en: 'no usage' },
  },
  end_reason: {
    completed: { zh: '完成', en: 'completed' },
    rejected: { zh: '被拒绝', en: 'rejected' },
    refused: { zh: '受理前被拒绝', en: 'refused before it was admitted' },
    upstream_failed: { zh: '上游失败', en: 'the upstream failed' },
    upstream_broken: { zh: '上游中断', en: 'the upstream broke off' },
    client_gone: { zh: '客户端断开', en: 'the client disconnected' },
    quota_cut: { zh: '额度用尽而截断', en: 'cut: the balance was used up' },
    word_cut: { zh: '敏感词截断', en: 'cut at a blocked word' },
    stopped: { zh: '服务停止', en: 'this site stopped it' },
    internal: { zh: '本站缺陷', en: 'a defect of this site' },
    recovered: { zh: '重启后补记', en: 'settled after a restart' },
    imported: { zh: '导入', en: 'imported' },
  },
};

/** @returns label and value of each, in words. */
export const labelledColumns = (log: Log, language: Language): (readonly [string, string])[] =>
  Object.entries(logColumns).map(([name, label]) => [
    textIn(label, language),
    wordOf(name, String(log[name as keyof typeof logColumns]), language),
  ]);

function wordOf(column: string, value: string, language: Language): string {
  const known = words[column]?.[value];
  return known === undefined ? value : textIn(known, language);
}
