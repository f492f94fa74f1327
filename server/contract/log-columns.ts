/** Columns of a log export in their order; those with a label stand in the details of a request as they are. */

import type { Log } from './entities.ts';
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

export const logColumns = {
  id: null,
  created_at: null,
  type: null,
  request_id: null,
  username: null,
  token_name: null,
  group: null,
  model_name: null,
  channel: null,
  is_stream: null,
  use_time: null,
  prompt_tokens: null,
  completion_tokens: null,
  quota: null,
  usage_source: { zh: '用量来源', en: 'Usage source' },
  end_reason: { zh: '结束原因', en: 'End reason' },
  content: null,
  other: null,
} as const satisfies { readonly [Name in keyof Log]?: Text | null };

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

/** @returns label and value of each column that has a label, in words. */
export const labelledColumns = (log: Log, language: Language): (readonly [string, string])[] =>
  Object.entries(logColumns).flatMap(([name, label]) =>
    label === null
      ? []
      : [[textIn(label, language), wordOf(name, String(log[name as keyof typeof logColumns]), language)] as const],
  );

function wordOf(column: string, value: string, language: Language): string {
  const known = words[column]?.[value];
  return known === undefined ? value : textIn(known, language);
}
