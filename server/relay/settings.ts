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
    pingMs: optionValue(stored, 'general_setting.ping_interval_enabled')
      ? optionValue(stored, 'general_setting.ping_interval_seconds') * 1000
      : null,
  };
}
