/** Realtime conversations: admits them and reaches an upstream that holds them. */

import { AppError } from '../../../contract/errors.ts';
import { authHeaders } from '../../../providers/auth.ts';
import { providerByType } from '../../../providers/catalogue.ts';
import { endpointFor } from '../../../providers/provider.ts';
import type { Admit } from '../../admission/admit.ts';
import type { Exchange } from '../../admission/exchange.ts';
import type { Inquiry, Peer } from '../../intake/inquiry.ts';
import { checkModelName } from '../../intake/members.ts';
import { noPrompt } from '../../intake/prompt.ts';
import { mapModel } from '../../routing/choose.ts';
import type { Health } from '../../routing/health.ts';
import { triedOnly } from '../../shared/failure.ts';
import { clientError, errorResponse, retryAfterOf } from '../../shared/render-error.ts';
import type { ChannelSnapshot } from '../../state/snapshot.ts';
import { type Conversation, type ConverseDeps, converse } from './conversation.ts';

export interface RealtimeDeps extends ConverseDeps {
  readonly admit: Admit;
  readonly health: Health;
  readonly nextId: () => string;
  readonly connectMs: number;
  readonly opened: () => void;
}

export function createRealtime(deps: RealtimeDeps) {
  /** @returns the conversation, or the answer that refuses it. Never rejects. */
  return async (request: Request, peer: Peer): Promise<Conversation | Response> => {
    const requestId = deps.nextId();
    deps.opened();
    let exchange: Exchange | null = null;
    try {
      const principal = deps.authorise.identify(request, peer);
      // Nobody can say it any more once the socket is open.
      const address = peer.ip();
      const model = new URL(request.url).searchParams.get('model') ?? '';
      if (model === '') throw new AppError('model_missing');
      checkModelName(model);
      deps.authorise.allowModel(principal, model);
      exchange = await deps.admit(inquiryFor(request, requestId, model, deps.now()), principal, false);
      const reached = await reach(deps, exchange, request);
      return converse(deps, {
        ...reached,
        exchange,
        principal,
        peer: { ip: () => address },
        protocol: offered(request).includes('realtime') ? 'realtime' : '',
        admit: (caller, writer) => {
          const asked = inquiryFor(request, deps.nextId(), writer, deps.now());
          const admitted = deps.admit(
            { ...asked, operation: 'transcriptions' },
            { ...caller, pinnedChannel: reached.channel.id },
            false,
          );
          // Without words nothing has to be counted first: it is let in, or refused, at once.
          if (admitted instanceof Promise) throw new AppError('internal');
          return admitted;
        },
      });
    } catch (error) {
      const shown = clientError(error, requestId);
      await exchange?.charge.finish({ ...nothingEnd(exchange), content: shown.message });
      deps.ended();
      return errorResponse('openai-chat', shown, retryAfterOf(error));
    }
  };
}

const offered = (request: Request): string[] =>
  (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());

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
  prompt: noPrompt,
  request,
});

interface Reached extends Line {
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
    const line = await connect(url, headers, deps.connectMs);
    if (line !== null) {
      deps.health.succeeded(channel, key.index);
      return { ...line, channel, upstreamModel };
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

interface Line {
  readonly socket: WebSocket;
  /** What the upstream said before anybody listened: its greeting may come together with its consent. */
  readonly greeting: (string | ArrayBuffer)[];
}

function connect(url: string, headers: Record<string, string>, ms: number): Promise<Line | null> {
  const socket = new WebSocket(url, { headers } as unknown as string[]);
  socket.binaryType = 'arraybuffer';
  const greeting: Line['greeting'] = [];
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => void greeting.push(data);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      socket.close();
      resolve(null);
    }, ms);
    const settle = (found: Line | null) => {
      clearTimeout(timer);
      resolve(found);
    };
    socket.addEventListener('open', () => settle({ socket, greeting }), { once: true });
    socket.addEventListener('error', () => settle(null), { once: true });
    socket.addEventListener('close', () => settle(null), { once: true });
  });
}
