/** What is odd about a usage that an upstream reported: it is charged as reported, and the log row says so in `usage_marks`. */
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

const usageMarkTexts = {
  corrected: {
    zh: '上游最后报告的用量低于先前的报告，按最后的计费',
    en: "the upstream's last report lowered an earlier one; the last one counts",
  },
  above_limit: {
    zh: '输出多于该模型最多能写的 Tokens',
    en: 'more output than the model writes at most',
  },
  above_delivered: {
    zh: '输出 Tokens 多于上游发来的字节',
    en: 'more output tokens than the upstream sent bytes',
  },
  above_sent: {
    zh: '提示远多于发出的内容',
    en: 'a prompt far larger than what was sent',
  },
} as const satisfies Readonly<Record<string, Text>>;

export type UsageMark = keyof typeof usageMarkTexts;

/** @param value the field of a log row. */
export const usageMarksIn = (value: unknown, language: Language): readonly string[] =>
  Array.isArray(value)
    ? value.flatMap((name) => {
        const words = Object.hasOwn(usageMarkTexts, String(name)) ? usageMarkTexts[name as UsageMark] : undefined;
        return words === undefined ? [] : [textIn(words, language)];
      })
    : [];
