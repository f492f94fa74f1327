/** A bill of one calendar month (UTC) by model and day: of a user, a key, a label of keys, a project, or the channels of a tag. Pure. */
import * as z from 'zod/mini';
import { buyerShape } from './invoice.ts';

const int = z.int();
const sums = { requests: int, prompt_tokens: int, completion_tokens: int, quota: int };

/** What a site that bills afterwards asks for a user's month. */
const statementBillShape = z.object({
  seller: buyerShape,
  buyer: buyerShape,
  /** Cents of a dollar, tax included, and its parts. */
  gross: int,
  net: int,
  tax: int,
  /** '' = no tax is named. */
  tax_name: z.string(),
  /** Percent as it was set: `19`; '' = no tax is named. */
  tax_rate: z.string(),
  /** At the foot. */
  note: z.string(),
});
export type StatementBill = z.infer<typeof statementBillShape>;

export const statementShape = z.object({
  /** `2026-11`, or of a week `2026-W48`. */
  month: z.string(),
  /** Epoch seconds of the first and of the last second. */
  from: int,
  to: int,
  of: z.enum(['user', 'token', 'tag', 'label', 'project']),
  /** The user's or the key's number; of a label or a project the user's to whom it is limited; 0 = everybody's, and for a tag. */
  id: int,
  name: z.string(),
  /** Whose bill it is; '' = everybody's. */
  username: z.string(),
  site: z.string(),
  in_currency: z.boolean(),
  quota_per_unit: z.number(),
  /** Days with charges, oldest first, the dearest model first. What was given back for failed work is a negative line of the day of its refund. */
  lines: z.array(z.object({ /** `2026-11-03` */ day: z.string(), model: z.string(), refund: z.boolean(), ...sums })),
  total: z.object(sums),
  /** null = what was used has been paid for: no tax is named. */
  bill: z.nullable(statementBillShape),
  /** Every charge of the month recomputed from its own row; null = not asked for. */
  check: z.nullable(z.object({ checked: int, unequal: int })),
});

/** What a bill is divided by. */
export const shareKinds = ['user', 'token', 'label', 'project'] as const;
export type ShareKind = (typeof shareKinds)[number];

export const statementSharesShape = z.object({
  month: z.string(),
  from: int,
  to: int,
  by: z.enum(shareKinds),
  /** The dearest 500. A key with two labels counts with both; an empty name = without a label or project. */
  shares: z.array(
    z.object({
      /** The user's or the key's number; of a label or project 0. */
      id: int,
      name: z.string(),
      /** The number and the name of whose it is; 0 and '' of a label that is everybody's. */
      user: int,
      username: z.string(),
      ...sums,
    }),
  ),
  /** Sums of everything, each request once. */
  total: z.object(sums),
});
export type StatementShares = z.infer<typeof statementSharesShape>;

export type Statement = z.infer<typeof statementShape>;
export type StatementLine = Statement['lines'][number];

/** A model's share of the month; what was given back stands apart. */
export type StatementModel = Omit<StatementLine, 'day'>;

/** The month by model, the dearest first. */
export function modelsOf(lines: readonly StatementLine[]): readonly StatementModel[] {
  const models = new Map<string, StatementModel>();
  for (const { day: _, ...line } of lines) {
    const name = `${line.refund} ${line.model}`;
    const before = models.get(name);
    models.set(
      name,
      before === undefined
        ? line
        : {
            ...line,
            requests: before.requests + line.requests,
            prompt_tokens: before.prompt_tokens + line.prompt_tokens,
            completion_tokens: before.completion_tokens + line.completion_tokens,
            quota: before.quota + line.quota,
          },
    );
  }
  return [...models.values()].sort((one, other) => other.quota - one.quota);
}

const daySeconds = 86_400;

/** @param period a month, `2026-11`, or a week from Monday to Sunday, `2026-W48`. @returns epoch seconds of its ends; null = it is none. */
export function monthRange(period: string): { readonly from: number; readonly to: number } | null {
  const [, year, number] = (/^(\d{4})-(0[1-9]|1[0-2])$/.exec(period) ?? []).map(Number);
  if (year !== undefined && number !== undefined)
    return { from: Date.UTC(year, number - 1) / 1000, to: Date.UTC(year, number) / 1000 - 1 };
  const [, ofYear, week] = (/^(\d{4})-W(0[1-9]|[1-4]\d|5[0-3])$/.exec(period) ?? []).map(Number);
  if (ofYear === undefined || week === undefined) return null;
  // The first week is that of 4 January.
  const fourth = Date.UTC(ofYear, 0, 4) / 1000;
  const monday = fourth - ((new Date(fourth * 1000).getUTCDay() + 6) % 7) * daySeconds;
  const from = monday + (week - 1) * 7 * daySeconds;
  // A year without a 53rd week has none.
  const thursday = new Date((from + 3 * daySeconds) * 1000);
  return thursday.getUTCFullYear() === ofYear ? { from, to: from + 7 * daySeconds - 1 } : null;
}

/** `November 2026`, or of a week `2026-W48`. */
export const periodName = (period: string, language: string): string =>
  period.includes('W')
    ? period
    : new Intl.DateTimeFormat(language, { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(
        Date.parse(`${period}-01`),
      );

/** @param now epoch milliseconds. */
export const monthAt = (now: number): string => new Date(now).toISOString().slice(0, 7);
