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

/** @returns label and value of each column that has a label. */
export const labelledColumns = (log: Log, language: Language): (readonly [string, string])[] =>
  Object.entries(logColumns).flatMap(([name, label]) =>
    label === null ? [] : [[textIn(label, language), String(log[name as keyof typeof logColumns])] as const],
  );
