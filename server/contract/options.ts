/** Every option key, one row each: validation, API, redaction, status payload, form, help, CLI and documents are loops over this list. */
import { alertOptions } from './options/alerts.ts';
import { backupOptions } from './options/backups.ts';
import { contentOptions } from './options/content.ts';
import { invoiceOptions } from './options/invoices.ts';
import { legacyOptions } from './options/legacy.ts';
import { modelsOptions } from './options/models.ts';
import { operationOptions } from './options/operation.ts';
import { pricingOptions } from './options/pricing.ts';
import { rateLimitsOptions } from './options/rate-limits.ts';
import type { OptionRow } from './options/row.ts';
import { signInOptions } from './options/sign-in.ts';
import { siteOptions } from './options/site.ts';

/** In the order of the settings page. */
export const options = {
  ...signInOptions,
  ...siteOptions,
  ...invoiceOptions,
  ...contentOptions,
  ...operationOptions,
  ...alertOptions,
  ...backupOptions,
  ...pricingOptions,
  ...rateLimitsOptions,
  ...modelsOptions,
  ...legacyOptions,
} as const satisfies Record<string, OptionRow>;

export type OptionKey = keyof typeof options;
export type OptionValue<K extends OptionKey> = (typeof options)[K] extends OptionRow<infer T> ? T : never;

export const optionKeys = Object.keys(options) as OptionKey[];
export const isOptionKey = (key: string): key is OptionKey => Object.hasOwn(options, key);
export const optionRow = (key: OptionKey): OptionRow => options[key];

/** Text of an option; what is missing or was damaged by hand counts as the default. */
export function optionText(stored: ReadonlyMap<string, string>, key: OptionKey): string {
  const { kind, fallback } = optionRow(key);
  const value = stored.get(key);
  return value === undefined || kind.check(value) !== null ? fallback : value;
}

/** Value of an option from stored texts. */
export function optionValue<K extends OptionKey>(stored: ReadonlyMap<string, string>, key: K): OptionValue<K> {
  return optionRow(key).kind.parse(optionText(stored, key)) as OptionValue<K>;
}
