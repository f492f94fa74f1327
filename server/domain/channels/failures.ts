/** Decides what a failing channel's trouble means for its status: automatic disabling, and enabling again after a passed test. */
import type { ChannelRow } from '../../../db/repositories/channels.ts';
import type { ChannelFailure } from '../../contract/channel-failure.ts';
import { ChannelStatus } from '../../contract/enum.ts';

export interface FailureRules {
  /** Option AutomaticDisableChannelEnabled. */
  readonly enabled: boolean;
  /** Option AutomaticDisableKeywords, lower case. */
  readonly keywords: readonly string[];
}

const fatalCodes = new Set(['invalid_api_key', 'account_deactivated', 'billing_not_active']);
const fatalTypes = new Set(['insufficient_quota', 'authentication_error', 'permission_error', 'forbidden']);

/**
 * @returns the reason when the channel must not be used again before an operator looked at it, else null. A gateway whose
 * own user ran out (`insufficient_user_quota`) is no broken channel.
 */
export function disableReason(
  channel: Pick<ChannelRow, 'auto_ban' | 'status'>,
  failure: ChannelFailure,
  rules: FailureRules,
): string | null {
  if (!rules.enabled || channel.auto_ban !== 1 || channel.status !== ChannelStatus.enabled || !failure.lastKey)
    return null;
  const message = failure.message.toLowerCase();
  const parts = [failure.status === null ? '' : `HTTP ${failure.status}`, failure.code || failure.type, failure.message]
    .filter((part) => part !== '')
    .join(' · ')
    .slice(0, 500);
  if (failure.code === 'insufficient_user_quota') return null;
  const fatal =
    failure.kind === 'host' ||
    failure.status === 401 ||
    fatalCodes.has(failure.code) ||
    fatalTypes.has(failure.type) ||
    rules.keywords.some((word) => word !== '' && message.includes(word));
  return fatal ? parts : null;
}

const maxTestErrorLength = 500;

/** What `other_info` says after a test: why it failed; nothing about tests when it did not. */
export function withTest(info: string, result: { readonly ok: boolean; readonly message: string }): string {
  const { test_error: _former, ...rest } = infoOf(info);
  const next = result.ok ? rest : { ...rest, test_error: result.message.slice(0, maxTestErrorLength) };
  return Object.keys(next).length === 0 ? '' : JSON.stringify(next);
}

function infoOf(info: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(info || '{}')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** What a channel's `other_info` says about an automatic change. @param at epoch seconds. */
export const statusInfo = (reason: string, at: number): string =>
  JSON.stringify({ status_reason: reason, status_time: at });
