/** Realtime conversations: frames pass both ways untouched, every answered turn is metered, one log row tells the sum. */

import { AppError } from '../contract/errors.ts';
import type { Usage } from '../protocols/canonical.ts';
import { parseJson, record, text } from '../protocols/shared/json.ts';
import { detailCount, emptyUsage, tokenCounts } from '../protocols/shared/usage.ts';
import { authHeaders } from '../providers/auth.ts';
import { providerByType } from '../providers/catalogue.ts';
import { endpointFor } from '../providers/provider.ts';
import type { Admit } from './admit.ts';
import type { Authorise } from './authorise.ts';
import { mapModel } from './choose.ts';
import type { Exchange, Inquiry, Peer } from './exchange.ts';
import { triedOnly } from './failure.ts';
import type { Health } from './health.ts';
import { checkModelName } from './members.ts';
import { readPrompt } from './prompt.ts';
import { clientError, errorResponse, retryAfterOf } from './render-error.ts';
import type { RelaySettings } from './settings.ts';
import type { ChannelSnapshot } from './snapshot.ts';
import { checkWords } from './words.ts';

export interface RealtimeDeps {
  readonly authorise: Authorise;
  readonly admit: Admit;
  readonly health: Health;
  readonly settings: () => RelaySettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly nextId: () => string;
  readonly connectMs: number;
  readonly opened: () => void;
  readonly ended: () => void;
}

/** The client's side of a conversation, as the listener offers it. */
export interface ClientSocket {
  send(data: string | Uint8Array): unknown;
  close(code?: number, reason?: string): void;
}

export interface Conversation {
  /** Chosen sub-protocol to confirm, '' = none was offered. */
  readonly protocol: string;
  open(client: ClientSocket): void;
  message(data: string | Uint8Array): void;
  close(): void;
}

const answered = '"response.done"';

/** Usage of one answered turn. Its details are named in the singular here. */
export function turnUsage(event: unknown): Usage | null {
  const usage = record(record(record(event)?.response)?.usage);
  const input = record(usage?.input_token_details);
  const output = record(usage?.output_token_details);
  const cached = record(input?.cached_tokens_details);
  const counts = tokenCounts([usage?.input_tokens, usage?.output_tokens]);
  if (usage === null || counts === null) return null;
  const [total, written] = counts;
  // A detail that contradicts its total is cut to it.
  const cacheRead = Math.min(total, detailCount(input?.cached_tokens));
  const heard = Math.min(
    total - cacheRead,
    Math.max(0, detailCount(input?.audio_tokens) - detailCount(cached?.audio_tokens)),
  );
  const images = Math.min(total - cacheRead - heard, detailCount(input?.image_tokens));
  const spoken = Math.min(written, detailCount(output?.audio_tokens));
  return {
    ...emptyUsage,
    input: total - cacheRead - heard - images,
    cacheRead,
    audioInput: heard,
    imageInput: images,
    output: written - spoken,
    audioOutput: spoken,
    raw: usage,
  };
}

const sum = (a: Usage, b: Usage): Usage => ({
  ...emptyUsage,
  input: a.input + b.input,
  cacheRead: a.cacheRead + b.cacheRead,
  audioInput: a.audioInput + b.audioInput,
  imageInput: a.imageInput + b.imageInput,
  output: a.output + b.output,
  audioOutput: a.audioOutput + b.audioOutput,
});

export function createRealtime(deps: RealtimeDeps) {
  /** @returns the conversation, or the answer that refuses it. Never rejects. */
  return async (request: Request, peer: Peer): Promise<Conversation | Response> => {
    const requestId = deps.nextId();
    deps.opened();
    let exchange: Exchange | null = null;
    try {
      const principal = deps.authorise.identify(request, peer);
      const model = new URL(request.url).searchParams.get('model') ?? '';
      if (model === '') throw new AppError('model_missing');
      checkModelName(model);
      deps.authorise.allowModel(principal, model);
      exchange = deps.admit(inquiryFor(request, requestId, model, deps.now()), principal, false);
      const reached = await reach(deps, exchange, request);
      return converse(deps, exchange, reached, request);
    } catch (error) {
      const shown = clientError(error, requestId);
      await exchange?.charge.finish({ ...nothingEnd(exchange), content: shown.message });
      deps.ended();
      return errorResponse('openai-chat', shown, retryAfterOf(error));
    }
  };
}

const nothingEnd = ({ plan }: Exchange) => ({
  endReason: 'upstream_failed' as const,
  usage: null,
  usageSource: 'none' as const,
  prices: plan.prices,
  channel: null,
  upstreamModel: '',
  firstByteMs: null,
  tried: plan.candidates.map(triedOnly),
  dropped: [],
});

const inquiryFor = (request: Request, requestId: string, model: string, startedMs: number): Inquiry => ({
  requestId,
  startedMs,
  route: { path: '/v1/realtime', protocol: 'openai-chat', operation: 'realtime' },
  protocol: 'openai-chat',
  operation: 'realtime',
  model,
  stream: true,
  json: null,
  form: null,
  body: {},
  prompt: { texts: [], media: 0 },
  request,
});

interface Reached {
  readonly socket: WebSocket;
  readonly channel: ChannelSnapshot;
  readonly upstreamModel: string;
}

/** The first channel that answers. @throws AppError operation_unsupported, upstream_unreachable. */
async function reach(deps: RealtimeDeps, { inquiry, plan }: Exchange, request: Request): Promise<Reached> {
  let served = false;
  for (const channel of plan.candidates) {
    const provider = providerByType(channel.type);
    const upstreamModel = mapModel(channel.modelMapping, inquiry.model);
    const facts = { baseUrl: channel.baseUrl, model: upstreamModel, other: channel.other };
    const address = provider === undefined ? null : endpointFor(provider, 'realtime', facts);
    if (provider === undefined || address === null) continue;
    served = true;
    const key = deps.health.pickKey(channel);
    const url = `${address.replace(/^http/, 'ws')}?model=${encodeURIComponent(upstreamModel)}`;
    const beta = request.headers.get('openai-beta');
    const headers = {
      ...authHeaders(provider, key.key, channel.organization),
      ...(beta === null ? {} : { 'openai-beta': beta }),
    };
    const socket = await connect(url, headers, deps.connectMs);
    if (socket !== null) {
      deps.health.succeeded(channel, key.index);
      return { socket, channel, upstreamModel };
    }
    deps.health.failed(channel, key.index, {
      class: 'host',
      status: null,
      error: null,
      retryAfter: null,
      reason: 'unreachable',
    });
  }
  throw served
    ? new AppError('upstream_unreachable')
    : new AppError('operation_unsupported', { operation: inquiry.operation });
}

function connect(url: string, headers: Record<string, string>, ms: number): Promise<WebSocket | null> {
  const socket = new WebSocket(url, { headers } as unknown as string[]);
  socket.binaryType = 'arraybuffer';
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      socket.close();
      resolve(null);
    }, ms);
    const settle = (found: WebSocket | null) => {
      clearTimeout(timer);
      resolve(found);
    };
    socket.addEventListener('open', () => settle(socket), { once: true });
    socket.addEventListener('error', () => settle(null), { once: true });
    socket.addEventListener('close', () => settle(null), { once: true });
  });
}

function converse(deps: RealtimeDeps, exchange: Exchange, reached: Reached, request: Request): Conversation {
  const { socket, channel, upstreamModel } = reached;
  const { charge, plan, inquiry } = exchange;
  const offered = (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
  /** What the upstream says before the client's socket is ready. */
  const early: (string | Uint8Array)[] = [];
  let client: ClientSocket | null = null;
  let total: Usage = emptyUsage;
  let turns = 0;
  let firstByteMs: number | null = null;
  let over = false;

  const end = async (endReason: 'completed' | 'upstream_broken' | 'quota_cut') => {
    if (over) return;
    over = true;
    socket.close();
    await charge.finish({
      endReason,
      usage: turns === 0 ? emptyUsage : total,
      usageSource: turns === 0 ? 'none' : 'reported',
      prices: plan.prices,
      channel,
      upstreamModel,
      firstByteMs,
      tried: [triedOnly(channel)],
      dropped: [],
    });
    deps.ended();
  };
  const meter = (data: string) => {
    const event = parseJson(data);
    if (text(record(event)?.type) !== 'response.done') return;
    const usage = turnUsage(event);
    if (usage === null) return;
    turns++;
    total = sum(total, usage);
    if (charge.extendTo(total)) return;
    // Before the socket closes, for its closing is an end of another kind.
    void end('quota_cut');
    client?.close(1008, tell(new AppError('user_exhausted', { remain: 0, need: 1 })));
  };
  /** @returns the code of what the client was told. */
  const tell = (error: unknown): string => {
    const { type, code, message } = clientError(error, inquiry.requestId);
    client?.send(
      JSON.stringify({ type: 'error', event_id: `evt_${inquiry.requestId}`, error: { type, code, message } }),
    );
    return code;
  };
  /** Words come in frames here; a frame with unwanted ones goes no further. */
  const passes = (data: string): boolean => {
    const settings = deps.settings();
    if (settings.blockedWords.length === 0) return true;
    try {
      checkWords(settings, readPrompt(record(parseJson(data)) ?? {}));
      return true;
    } catch (error) {
      tell(error);
      return false;
    }
  };

  socket.addEventListener('message', ({ data: raw }: MessageEvent<string | ArrayBuffer>) => {
    const data = typeof raw === 'string' ? raw : new Uint8Array(raw);
    firstByteMs ??= deps.now();
    if (client === null) early.push(data);
    else client.send(data);
    if (typeof data === 'string' && data.includes(answered)) meter(data);
  });
  socket.addEventListener('close', ({ code }) => {
    client?.close(code === 1000 ? 1000 : 1011);
    void end(code === 1000 ? 'completed' : 'upstream_broken');
  });
  return {
    protocol: offered.includes('realtime') ? 'realtime' : '',
    open(ready) {
      client = ready;
      for (const data of early.splice(0)) ready.send(data);
    },
    message(data) {
      if (typeof data === 'string' && !passes(data)) return;
      if (socket.readyState === WebSocket.OPEN) socket.send(typeof data === 'string' ? data : new Uint8Array(data));
    },
    close: () => void end('completed'),
  };
}
