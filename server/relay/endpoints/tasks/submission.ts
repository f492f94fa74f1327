/** What drawings and songs share: what they work with, what is submitted, how they complain. */
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { Admit } from '../../admission/admit.ts';
import type { Exchange } from '../../admission/exchange.ts';
import type { Authorise } from '../../intake/authorise.ts';
import type { Inquiry, Principal } from '../../intake/inquiry.ts';
import { redact, triedOnly } from '../../shared/failure.ts';
import type { ChannelSnapshot } from '../../state/snapshot.ts';
import type { RelayState } from '../../state/state.ts';
import type { WorkStore } from './store.ts';

export interface WorksDeps {
  readonly state: RelayState;
  readonly authorise: Authorise;
  readonly admit: Admit;
  readonly store: WorkStore;
  readonly fetch: typeof fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly bodyLimit: number;
  /** The body of a request has arrived. */
  readonly heard: (request: Request) => void;
  readonly opened: () => void;
  readonly ended: () => void;
}

/** What a submission needs besides its own rules. */
export interface Submission {
  readonly inquiry: Inquiry;
  readonly principal: Principal;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A complaint in the form of these interfaces. */
export const complaint = (status: number, code: number, description: string): Response =>
  Response.json({ code, description, type: 'new_api_error' }, { status });

export const callTimeoutMs = 60_000;

export interface TaskCall {
  /** Where the channel has no address of its own. */
  readonly baseUrl: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** null = there is none, and the call only asks. */
  readonly body: unknown;
}

/** One call to a channel's upstream. @returns null when it could not be reached or gave no JSON. */
export async function callUpstream(
  deps: Pick<WorksDeps, 'fetch'>,
  channel: ChannelSnapshot,
  { baseUrl, path, headers, body }: TaskCall,
): Promise<{ readonly status: number; readonly body: Record<string, unknown> } | null> {
  try {
    const response = await deps.fetch(`${channel.baseUrl || baseUrl}${path}`, {
      method: body === null ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'identity', ...headers },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(callTimeoutMs),
    });
    const text = redact(await response.text(), channel.keys);
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return null;
    return { status: response.status, body: parsed as Record<string, unknown> };
  } catch {
    return null;
  }
}

/** Ends the money of a submission: paid by the piece, or nothing. */
export async function settleWork(
  { charge, plan, inquiry }: Exchange,
  channel: ChannelSnapshot | null,
  { paid, content }: { readonly paid: boolean; readonly content: string },
  now: () => number,
): Promise<void> {
  await charge.finish({
    endReason: paid ? 'completed' : 'upstream_failed',
    usage: paid ? { ...emptyUsage, input: 1 } : null,
    usageSource: paid ? 'reported' : 'none',
    prices: plan.prices,
    channel,
    upstreamModel: inquiry.model,
    firstByteMs: now(),
    tried: channel === null ? [] : [triedOnly(channel)],
    dropped: [],
    content,
  });
}
