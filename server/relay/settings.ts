/** The options the relay lives by, parsed once per change. */

import { optionText, optionValue } from '../contract/options.ts';
import { compilePriceTables, type PriceTables } from '../contract/pricing-tables.ts';

export interface RelaySettings {
  readonly priceTables: PriceTables;
  readonly groupRatios: ReadonlyMap<string, number>;
  readonly usableGroups: ReadonlySet<string>;
  readonly selfUse: boolean;
  readonly retryTimes: number;
  readonly preConsumedQuota: number;
  readonly logConsumption: boolean;
  /** Lower case; empty = no check. */
  readonly blockedWords: readonly string[];
  /** Bodies go out as they came: no overrides. */
  readonly passThrough: boolean;
  /** Tokens an Anthropic request may write when its client named no limit. */
  readonly claudeMaxTokens: (model: string) => number;
  /** Answers carry a header that says how their channel was chosen. */
  readonly showTrace: boolean;
  /** Milliseconds between keep-alives, null = none. */
  readonly pingMs: number | null;
}

/** @param stored option texts that differ from their defaults. */
export function compileSettings(stored: ReadonlyMap<string, string>): RelaySettings {
  const checksWords =
    optionValue(stored, 'CheckSensitiveEnabled') && optionValue(stored, 'CheckSensitiveOnPromptEnabled');
  return {
    priceTables: compilePriceTables((key) => optionText(stored, key)),
    groupRatios: optionValue(stored, 'GroupRatio'),
    usableGroups: new Set(Object.keys(optionValue(stored, 'UserUsableGroups') as Record<string, unknown>)),
    selfUse: optionValue(stored, 'SelfUseModeEnabled'),
    retryTimes: optionValue(stored, 'RetryTimes'),
    preConsumedQuota: optionValue(stored, 'PreConsumedQuota'),
    logConsumption: optionValue(stored, 'LogConsumeEnabled'),
    blockedWords: checksWords ? optionValue(stored, 'SensitiveWords').map((word) => word.toLowerCase()) : [],
    passThrough: optionValue(stored, 'global.pass_through_request_enabled'),
    showTrace: optionValue(stored, 'general_setting.route_trace_enabled'),
    claudeMaxTokens: maxTokensByModel(optionValue(stored, 'claude.default_max_tokens') as Record<string, unknown>),
    pingMs: optionValue(stored, 'general_setting.ping_interval_enabled')
      ? optionValue(stored, 'general_setting.ping_interval_seconds') * 1000
      : null,
  };
}

/** Where neither the model nor `default` is listed. Source: backend-reference 3.12. */
const claudeMaxTokensFallback = 8192;

const maxTokensByModel =
  (table: Readonly<Record<string, unknown>>) =>
  (model: string): number => {
    const found = table[model] ?? table.default;
    return typeof found === 'number' && found > 0 ? found : claudeMaxTokensFallback;
  };
