/** What the fields of a key may hold: the one reading for console, terminal, API and declarative files. Pure. */

import { channelIdsIn, maxKeyChannels } from './key-channels.ts';
import { isNetwork, networksIn } from './networks.ts';
import { maxQuota } from './pricing/share.ts';

export const rateLimitNames = ['rpm_limit', 'tpm_limit', 'concurrency_limit'] as const;
export const budgetNames = ['day_budget', 'month_budget'] as const;
/** Labels of a key: a request touches the budgets of each. */
export const maxLabels = 2;
const maxLabelLength = 64;
/** Of a list of models or addresses: every relay thread keeps it. As much as a column of new-api takes on MySQL (TEXT). */
const maxListLength = 65_535;
/** A limit is stored as 0 where there is none. */
export const maxRateLimit = 999_999_999_999;

/** Absent = not given. */
export interface TokenLimits {
  /** Quota. */
  readonly remain_quota?: number | undefined;
  /** Epoch seconds; -1 = never. */
  readonly expired_time?: number | undefined;
  /** Comma separated. */
  readonly model_limits?: string | undefined;
  readonly allow_ips?: string | undefined;
  /** Comma separated. */
  readonly labels?: string | undefined;
  /** Ids of channels, comma separated. */
  readonly channels?: string | undefined;
  readonly day_budget?: number | undefined;
  readonly month_budget?: number | undefined;
  readonly rpm_limit?: number | undefined;
  readonly tpm_limit?: number | undefined;
  readonly concurrency_limit?: number | undefined;
}

export type TokenIssue =
  | { readonly code: 'token_expiry_invalid' | 'token_expiry_past'; readonly params: Readonly<Record<string, never>> }
  | { readonly code: 'token_amount'; readonly params: { readonly field: string; readonly limit: number } }
  | { readonly code: 'token_list'; readonly params: { readonly field: string; readonly length: number } }
  | { readonly code: 'token_labels'; readonly params: { readonly most: number; readonly length: number } }
  | { readonly code: 'token_channels'; readonly params: { readonly most: number } }
  | { readonly code: 'token_addresses'; readonly params: { readonly address: string } };

/** The first entry that is neither an address nor a network; separators alone, which would lift the limit, are wrong too. */
export function wrongNetwork(text: string): string | undefined {
  const entries = networksIn(text);
  const said = text.trim();
  return entries.length === 0 && said !== '' ? said : entries.find((entry) => !isNetwork(entry));
}

/** As they are stored: each once, in the order in which they were given. */
export const labelsIn = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== ''),
  ),
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no label has.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029,]/;

export const isLabel = (label: string): boolean =>
  label !== '' && label === label.trim() && label.length <= maxLabelLength && !controls.test(label);

/**
 * The first thing that is wrong. What is stored may be sent back as it is: consoles send whole records, of keys that have
 * expired or are overdrawn too. A moment that has passed ends a key that is there; a new one is never meant to begin so.
 * @param stored null = a new key. @param now epoch seconds.
 */
export function tokenIssue(given: TokenLimits, stored: TokenLimits | null, now: number): TokenIssue | null {
  const { expired_time: at, allow_ips: addresses, remain_quota: quota } = given;
  if (at !== undefined && at !== -1 && at !== stored?.expired_time) {
    if (!Number.isSafeInteger(at) || at <= 0) return { code: 'token_expiry_invalid', params: {} };
    if (stored === null && at <= now) return { code: 'token_expiry_past', params: {} };
  }
  for (const field of ['model_limits', 'allow_ips'] as const)
    if (given[field] !== stored?.[field] && (given[field] ?? '').length > maxListLength)
      return { code: 'token_list', params: { field, length: maxListLength } };
  const wrong = addresses === undefined || addresses === stored?.allow_ips ? undefined : wrongNetwork(addresses);
  if (wrong !== undefined) return { code: 'token_addresses', params: { address: wrong } };
  const labels = labelsIn(given.labels ?? '');
  if (given.labels !== stored?.labels && (labels.length > maxLabels || !labels.every(isLabel)))
    return { code: 'token_labels', params: { most: maxLabels, length: maxLabelLength } };
  const channels = channelIdsIn(given.channels ?? '');
  // Separators alone would lift the limit.
  const isEmptied = channels?.length === 0 && (given.channels ?? '').trim() !== '';
  if (given.channels !== stored?.channels && (channels === null || isEmptied || channels.length > maxKeyChannels))
    return { code: 'token_channels', params: { most: maxKeyChannels } };
  const amounts = [
    { field: 'remain_quota', value: quota, min: Math.min(0, stored?.remain_quota ?? 0), max: maxQuota },
    ...budgetNames.map((field) => ({ field, value: given[field], min: 0, max: maxQuota })),
    ...rateLimitNames.map((field) => ({ field, value: given[field], min: 0, max: maxRateLimit })),
  ];
  const outside = amounts.find(
    ({ value, min, max }) => value !== undefined && !(Number.isSafeInteger(value) && value >= min && value <= max),
  );
  return outside === undefined ? null : { code: 'token_amount', params: { field: outside.field, limit: outside.max } };
}
