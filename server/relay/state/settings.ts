/** The options the relay lives by, parsed once per change. */

import { BlockList, isIP } from 'node:net';
import { maySetForAll } from '../../contract/header-override.ts';
import type { NameHeaders } from '../../contract/names.ts';
import { optionText, optionValue } from '../../contract/options.ts';
import { compilePriceTables, groupRatioFor, type PriceTables } from '../../contract/pricing/tables.ts';
import type { RequestRules } from '../../contract/request-rules.ts';
import type { RateLimits } from '../../contract/snapshot.ts';
import type { OperatorSettings, ThinkingSettings } from '../../protocols/definition.ts';
import { guardedLookup } from '../../protocols/shared/json.ts';
import { ownRows } from '../../providers/knowledge/own.ts';
import type { ModelRow } from '../../providers/knowledge/row.ts';

/** The operator's choices about drawings. */
export interface DrawingSettings {
  /** Drawings and songs are taken; what was ordered before can be fetched all the same. */
  readonly enabled: boolean;
  readonly songsEnabled: boolean;
  readonly keepAccountFilter: boolean;
  readonly forwardsCallbacks: boolean;
  readonly forwardImages: boolean;
  readonly clearsMode: boolean;
  readonly checksSuccess: boolean;
  /** No trailing slash; '' = unknown. */
  readonly serverAddress: string;
}

export interface RelaySettings extends OperatorSettings {
  readonly drawing: DrawingSettings;
  readonly priceTables: PriceTables;
  readonly groupRatios: ReadonlyMap<string, number>;
  readonly usableGroups: ReadonlySet<string>;
  /** The groups that a key tries in order when it leaves them to the site. */
  readonly autoGroups: readonly string[];
  /** Factor of a group's prices for users of another. */
  readonly ratioOf: (userGroup: string, group: string) => number;
  readonly selfUse: boolean;
  readonly retryTimes: number;
  /** Output tokens that a stream holds for ahead of what is delivered. */
  readonly aheadTokens: number;
  /** Quota by which all that a user's open requests may cost goes beyond the balance at most; 0 = not at all. */
  readonly allowance: number;
  readonly logConsumption: boolean;
  /** Words of upstreams' errors, lower case: their key is in trouble whatever the status. */
  readonly disableKeywords: readonly string[];
  /** Lower case; empty = no check. */
  readonly blockedWords: readonly string[];
  /** Streams end where one appears: lower case; empty = answers are not read for them. */
  readonly stopWords: readonly string[];
  /** Bodies go out as they came: no overrides. */
  readonly passThrough: boolean;
  readonly thinking: ThinkingSettings;
  /** Rules that change requests of all channels; null = there are none. */
  readonly requestRules: RequestRules | null;
  /** The operator's rules for models; a new list after each change. */
  readonly modelRules: readonly ModelRow[];
  /** Responses carry a header with the reason for their channel. */
  readonly showTrace: boolean;
  /** How long items of answers are kept for clients that name them later; 0 = not at all. */
  readonly itemDays: number;
  /** Billing questions are answered for the key, not for its user. */
  readonly tokenStat: boolean;
  /** Amounts are displayed in dollars. */
  readonly inCurrency: boolean;
  /** Quota in one dollar. */
  readonly quotaPerUnit: number;
  /** Whole answers carry headers that say what they cost. */
  readonly showCost: boolean;
  /** Limits of all requests of a group together. */
  readonly groupLimits: ReadonlyMap<string, RateLimits>;
  /** null = no rule. */
  readonly modelRequests: ModelRequestRule | null;
  /** Programs may sign in, and are told of models, rules and budgets as their own gateways do it. */
  readonly agentSignIn: boolean;
  /** Responses are served over sockets, too. */
  readonly responsesSockets: boolean;
  /** Variables that the operator sets in Claude Code. */
  readonly claudeEnvironment: Readonly<Record<string, string>>;
  /** Headers that name session, project or end user, and the keys of which that is believed; null = there are none. */
  readonly namedBy: { readonly headers: NameHeaders; readonly keys: ReadonlySet<number> } | null;
  /** Strangers' forms load a bot check from elsewhere. */
  readonly botCheck: boolean;
  /** Where the console's forms of payments go, '' = nowhere. */
  readonly payAddress: string;
  /** Whether a proxy at this address may say who it calls for. */
  readonly isTrustedProxy: (address: string) => boolean;
  /** Host of the site's own https address, '' = none. */
  readonly secureHost: string;
  /** Milliseconds between keep-alives, null = none. */
  readonly pingMs: number | null;
  /** They have the form of each dialect, and are not the pings that are switched on. */
  readonly ownPings: boolean;
  /** Milliseconds after which blanks come before an answer in one piece, and between two; null = never. */
  readonly blankMs: number | null;
  /** Milliseconds that a request may wait for a key that is busy for a moment. */
  readonly shortWaitMs: number;
  /** A channel's chance is its weight, without anything added. */
  readonly plainWeights: boolean;
  /** Milliseconds to the first event of a stream, and to a whole answer's first byte, after which another channel is tried; Infinity = never. */
  readonly firstEventMs: number;
  readonly firstAnswerMs: number;
  /** Milliseconds that an upstream may be silent in the middle of an answer. */
  readonly idleMs: number;
}

/** Extending a hold in smaller steps would cost more than it frees. */
const minHoldAhead = 4096;

/** How words are compared. Which of two letters a sigma becomes depends on what comes after it, and that may be in the next piece of a text. */
export function wordCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.includes('ς') ? lower.replaceAll('ς', 'σ') : lower;
}

const namedBy = (headers: NameHeaders, keys: ReadonlySet<number>): RelaySettings['namedBy'] =>
  headers.length === 0 || keys.size === 0 ? null : { headers, keys };

/**
 * @param stored option texts that differ from their defaults.
 * @param now epoch milliseconds: prices with dates hold on that day.
 */
export function compileSettings(stored: ReadonlyMap<string, string>, now: number): RelaySettings {
  const checksWords =
    optionValue(stored, 'CheckSensitiveEnabled') && optionValue(stored, 'CheckSensitiveOnPromptEnabled');
  const priceTables = compilePriceTables((key) => optionText(stored, key), now);
  return {
    priceTables,
    autoGroups: optionValue(stored, 'AutoGroups') as readonly string[],
    ratioOf: (userGroup, group) => groupRatioFor(priceTables, userGroup, group),
    groupRatios: optionValue(stored, 'GroupRatio'),
    usableGroups: new Set(Object.keys(optionValue(stored, 'UserUsableGroups') as Record<string, unknown>)),
    selfUse: optionValue(stored, 'SelfUseModeEnabled'),
    retryTimes: optionValue(stored, 'RetryTimes'),
    aheadTokens: Math.max(minHoldAhead, optionValue(stored, 'PreConsumedQuota')),
    allowance: optionValue(stored, 'HoldAllowance'),
    logConsumption: optionValue(stored, 'LogConsumeEnabled'),
    disableKeywords: optionValue(stored, 'AutomaticDisableKeywords').flatMap((word) =>
      word.trim() === '' ? [] : [word.trim().toLowerCase()],
    ),
    blockedWords: checksWords ? optionValue(stored, 'SensitiveWords').map(wordCase) : [],
    stopWords:
      optionValue(stored, 'CheckSensitiveEnabled') && optionValue(stored, 'StopOnSensitiveEnabled')
        ? optionValue(stored, 'SensitiveWords').flatMap((word) =>
            word.trim() === '' ? [] : [word.trim().toLowerCase()],
          )
        : [],
    drawing: {
      enabled: optionValue(stored, 'DrawingEnabled'),
      songsEnabled: optionValue(stored, 'TaskEnabled'),
      keepAccountFilter: optionValue(stored, 'MjAccountFilterEnabled'),
      forwardsCallbacks: optionValue(stored, 'MjNotifyEnabled'),
      forwardImages: optionValue(stored, 'MjForwardUrlEnabled'),
      clearsMode: optionValue(stored, 'MjModeClearEnabled'),
      checksSuccess: optionValue(stored, 'MjActionCheckSuccessEnabled'),
      serverAddress: optionValue(stored, 'ServerAddress').replace(/\/+$/, ''),
    },
    passThrough: optionValue(stored, 'global.pass_through_request_enabled'),
    claudeHeaders: headersByModel(optionValue(stored, 'claude.model_headers_settings') as Record<string, unknown>),
    thinking: {
      claude: optionValue(stored, 'claude.thinking_adapter_enabled'),
      claudeShare: optionValue(stored, 'claude.thinking_adapter_budget_tokens_percentage'),
      gemini: optionValue(stored, 'gemini.thinking_adapter_enabled'),
      geminiShare: optionValue(stored, 'gemini.thinking_adapter_budget_tokens_percentage'),
    },
    requestRules: optionValue(stored, 'request_rules'),
    modelRules: ownRows(optionValue(stored, 'model_rules')),
    geminiVersion: textByModel(optionValue(stored, 'gemini.version_settings'), 'v1beta'),
    geminiSafety: safetySettings(optionValue(stored, 'gemini.safety_settings') as Record<string, unknown>),
    geminiImagineModels: new Set(optionValue(stored, 'gemini.supported_imagine_models') as readonly string[]),
    botCheck: optionValue(stored, 'TurnstileCheckEnabled'),
    payAddress: optionValue(stored, 'PayAddress'),
    isTrustedProxy: proxyList(optionValue(stored, 'general_setting.trusted_proxies')),
    secureHost: secureHostOf(optionValue(stored, 'ServerAddress')),
    agentSignIn: optionValue(stored, 'agents.sign_in'),
    responsesSockets: optionValue(stored, 'general_setting.responses_sockets'),
    claudeEnvironment: optionValue(stored, 'agents.claude_env'),
    namedBy: namedBy(optionValue(stored, 'names.headers'), optionValue(stored, 'names.keys')),
    tokenStat: optionValue(stored, 'DisplayTokenStatEnabled'),
    inCurrency: optionValue(stored, 'DisplayInCurrencyEnabled'),
    quotaPerUnit: optionValue(stored, 'QuotaPerUnit'),
    showCost: optionValue(stored, 'general_setting.cost_header_enabled'),
    showTrace: optionValue(stored, 'general_setting.route_trace_enabled'),
    itemDays: optionValue(stored, 'ResponseItemDays'),
    claudeMaxTokens: maxTokensByModel(
      optionValue(stored, 'claude.default_max_tokens') as Record<string, unknown>,
      stored.has('claude.default_max_tokens'),
    ),
    groupLimits: new Map(
      Object.entries(optionValue(stored, 'GroupLimits')).map(([group, limits]) => [group, { ...noLimits, ...limits }]),
    ),
    modelRequests: modelRequestRule(stored),
    pingMs:
      (optionValue(stored, 'general_setting.ping_interval_enabled')
        ? optionValue(stored, 'general_setting.ping_interval_seconds')
        : optionValue(stored, 'general_setting.keep_alive_seconds')) * 1000 || null,
    ownPings: !optionValue(stored, 'general_setting.ping_interval_enabled'),
    blankMs: optionValue(stored, 'general_setting.blank_seconds') * 1000 || null,
    shortWaitMs: optionValue(stored, 'general_setting.short_wait_seconds') * 1000,
    plainWeights: optionValue(stored, 'general_setting.plain_weights'),
    firstEventMs: optionValue(stored, 'general_setting.first_event_seconds') * 1000 || Number.POSITIVE_INFINITY,
    firstAnswerMs: optionValue(stored, 'general_setting.first_answer_seconds') * 1000 || Number.POSITIVE_INFINITY,
    idleMs: optionValue(stored, 'general_setting.upstream_idle_seconds') * 1000,
  };
}

const secureHostOf = (address: string): string =>
  /^https:/i.test(address) && URL.canParse(address) ? new URL(address).host : '';

/** @param rows addresses and networks; an unreadable list trusts no address. */
function proxyList(rows: readonly string[]): (address: string) => boolean {
  const block = new BlockList();
  for (const row of rows) {
    const [address = '', bits] = row.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (isIP(address) !== 0) block.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return (address) => isIP(address) !== 0 && block.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const noLimits: RateLimits = { rpm: 0, tpm: 0, concurrency: 0 };

function modelRequestRule(stored: ReadonlyMap<string, string>): ModelRequestRule | null {
  const minutes = optionValue(stored, 'ModelRequestRateLimitDurationMinutes');
  if (!optionValue(stored, 'ModelRequestRateLimitEnabled') || minutes === 0) return null;
  return {
    periodMs: minutes * 60_000,
    total: optionValue(stored, 'ModelRequestRateLimitCount'),
    success: optionValue(stored, 'ModelRequestRateLimitSuccessCount'),
  };
}

/** @param set whether an operator wrote the table: what it is shipped with says nothing of any model. */
const maxTokensByModel =
  (table: Readonly<Record<string, unknown>>, set: boolean) =>
  (model: string, requested = model): number | null => {
    // Operators list a model also by the name that asks it to think.
    const found = guardedLookup(table, requested) ?? guardedLookup(table, model) ?? table.default;
    return set && typeof found === 'number' && found > 0 ? found : null;
  };

const textByModel =
  (table: Readonly<Record<string, unknown>>, fallback: string) =>
  (model: string): string => {
    const found = guardedLookup(table, model) ?? table.default;
    return typeof found === 'string' && found !== '' ? found : fallback;
  };

/** `{"model": {"header": "value" or ["value", ...]}}` */
const headersByModel =
  (table: Readonly<Record<string, unknown>>) =>
  (model: string): Readonly<Record<string, string>> => {
    const found = guardedLookup(table, model);
    if (typeof found !== 'object' || found === null) return {};
    return Object.fromEntries(
      // Rules that were stored before they were checked.
      Object.entries(found)
        .filter(([name]) => maySetForAll(name))
        .map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : String(value)]),
    );
  };

/** Categories of Google's API; `default` holds for those that are not named. */
const harms = [
  'HARM_CATEGORY_HARASSMENT',
  'HARM_CATEGORY_HATE_SPEECH',
  'HARM_CATEGORY_SEXUALLY_EXPLICIT',
  'HARM_CATEGORY_DANGEROUS_CONTENT',
  'HARM_CATEGORY_CIVIC_INTEGRITY',
] as const;

const safetySettings = (table: Readonly<Record<string, unknown>>) =>
  harms.flatMap((category) => {
    const threshold = table[category] ?? table.default;
    return typeof threshold === 'string' ? [{ category, threshold }] : [];
  });

/** The site's rule for each user. */
export interface ModelRequestRule {
  readonly periodMs: number;
  /** All requests, failed ones too; 0 = unlimited. */
  readonly total: number;
  readonly success: number;
}
