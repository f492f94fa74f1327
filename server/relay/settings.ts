/** The options the relay lives by, parsed once per change. */

import { optionValue } from '../contract/options.ts';
import type { PriceTables } from '../contract/quota.ts';

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
  const groupRatios = optionValue(stored, 'GroupRatio');
  const checksWords =
    optionValue(stored, 'CheckSensitiveEnabled') && optionValue(stored, 'CheckSensitiveOnPromptEnabled');
  return {
    priceTables: {
      modelRatio: optionValue(stored, 'ModelRatio'),
      modelPrice: optionValue(stored, 'ModelPrice'),
      completionRatio: optionValue(stored, 'CompletionRatio'),
      cacheRatio: optionValue(stored, 'CacheRatio'),
      cacheWriteRatio: optionValue(stored, 'CreateCacheRatio'),
      groupRatio: groupRatios,
      groupGroupRatio: nested(optionValue(stored, 'GroupGroupRatio')),
    },
    groupRatios,
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

function nested(value: unknown): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const outer = new Map<string, ReadonlyMap<string, number>>();
  for (const [userGroup, ratios] of Object.entries(value as Record<string, unknown>)) {
    if (typeof ratios !== 'object' || ratios === null) continue;
    const numbers = Object.entries(ratios).filter(
      (pair): pair is [string, number] => typeof pair[1] === 'number' && pair[1] >= 0,
    );
    outer.set(userGroup, new Map(numbers));
  }
  return outer;
}
