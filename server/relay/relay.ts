/** The relay's door: which requests come in, and which endpoint answers them. The steps of a request stand in `relay-request.ts`, what all share in `core.ts`. */
import { AppError } from '../contract/errors.ts';
import type { KeyHealth } from '../contract/key-health.ts';
import { languageFor } from '../contract/language.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { TrafficWindow } from '../contract/traffic.ts';
import type { PreviewedCall } from '../domain/channels/service.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import type { Seen } from './admission/observer.ts';
import { RelayCore } from './core.ts';
import { answerBilling, isBillingPath } from './endpoints/billing.ts';
import { answerGatewayClient, isGatewayClientPath } from './endpoints/gateway-client.ts';
import { answerModelList, isModelListPath, isModelsPath, listModels, requesterOf } from './endpoints/models.ts';
import type { Conversation } from './endpoints/realtime/conversation.ts';
import { openConversation } from './endpoints/realtime/realtime.ts';
import { ResponsesSockets } from './endpoints/responses-socket/sockets.ts';
import { taskFor } from './endpoints/tasks/routes.ts';
import { answerTask } from './endpoints/tasks/tasks.ts';
import type { Peer, SocketTurn } from './intake/parsed-request.ts';
import { plainId } from './intake/request-id.ts';
import { plainPath, relayRouteFor } from './intake/routes.ts';
import { type PreviewOrder, previewCall } from './preview.ts';
import type { RelayDeps } from './relay-deps.ts';
import { RelayRequest } from './relay-request.ts';
import type { HealthPiece, HealthReport, KeptHealth } from './routing/health-report.ts';
import { clientError, plainFailure, refusalFor, retryAfterOf } from './shared/render-error.ts';
import type { RelayStats } from './shared/stats.ts';

export interface TestOrder {
  readonly channelId: number;
  readonly path: string;
  readonly body: string;
}

export interface Relay {
  /** Load shedding, before anything of the request is read, looked up or kept. @returns the response to a request that cannot be served in time; null = `handle` it. */
  reject(request: Request, path: string, peer: Peer): Response | null;
  /** The response to a request that cannot be served for this reason: in the caller's dialect and language. */
  refusal(request: Request, path: string, reason: AppError): Response;
  /** Never rejects: every failure becomes a response in the caller's dialect. */
  handle(request: Request, path: string, peer: Peer): Promise<Response>;
  /** The same steps for a channel test: pinned to one channel, logged, not charged. @throws nothing */
  test(order: TestOrder): Promise<Response>;
  /** How a request would go out to a channel, by what sends it. @throws AppError as the request would be refused with. */
  preview(order: PreviewOrder): Promise<PreviewedCall>;
  /** A socket for a realtime conversation, or the response that refuses it. */
  realtime(request: Request, peer: Peer): Promise<Conversation | Response>;
  /** A socket for responses, or the response that refuses it: 426 where the operator has none. */
  responsesSocket(request: Request, path: string, peer: Peer): Promise<Conversation | Response>;
  /** Idle sockets for responses end now, the others with their turn, and no new ones open. */
  endSockets(): void;
  /** Writes down a defect of ours. */
  report(error: unknown, requestId: string): void;
  /** How channels are doing: in use, cooling down, ejected. In the order of the ids. */
  /** @param model as clients name it; null or absent = whatever model of each does best. */
  channelStatuses(
    ids: readonly number[],
    model?: string | null,
  ): { readonly condition: string; readonly waitMs: number }[];
  /** How the keys of a channel are doing, in use or not. The key of a channel with one has no name. */
  keyHealth(channelId: number): KeyHealth[];
  /** Takes over what another relay thread knows. */
  receive(report: HealthReport): void;
  /** How upstreams are doing, for the next start, in pieces; null = as it was. */
  healthToKeep(): Generator<HealthPiece, undefined> | null;
  /** Requests under way. */
  open(): number;
  /** What is leased covers no request, and the ledger cannot be asked for more. */
  isOutOfLeases(): boolean;
  /** Responses whose bill was not durable within the ceiling, and settlements that the ledger's rules turned down. */
  unbilled(): { readonly late: number; readonly rejected: number };
  /** What came of requests so far. */
  stats(): RelayStats;
  /** Traffic since the last call. */
  takeTraffic(): readonly TrafficWindow[];
  /** From here on every new request is refused with this. */
  close(reason: AppError): void;
  /** Ends what is under way: streams with an error frame, all settled for what was delivered. */
  cut(reason: AppError): void;
}

export const createRelay = (deps: RelayDeps): Relay => relayOver(new RelayCore(deps));

/** @param core what all requests share. */
function relayOver(core: RelayCore): Relay {
  const begin = (
    request: Request,
    path: string,
    peer: Peer | null,
    {
      testedChannel = 0,
      protocol,
      socket,
    }: { readonly testedChannel?: number; readonly protocol?: ProtocolId; readonly socket?: SocketTurn } = {},
  ) => new RelayRequest(core, { request, path, peer, testedChannel, protocol, socket });
  const sockets = new ResponsesSockets();

  const handle = (request: Request, path: string, peer: Peer): Promise<Response> => {
    const matched = relayRouteFor(path);
    return matched === undefined ? handleOther(request, path, peer) : begin(request, path, peer).respond(matched);
  };
  /** All that is no route of a protocol. */
  const handleOther = (request: Request, path: string, peer: Peer): Promise<Response> => {
    const task = taskFor(path);
    if (task !== null) {
      const incoming = begin(request, path, peer);
      return incoming.respondWith<never>(() => answerTask(core, task, incoming));
    }
    const lists = isModelsPath(path);
    const free = freeEndpoint(core, request, path, peer, lists);
    if (free === null) return begin(request, path, peer).respond(undefined);
    return begin(request, path, peer, lists ? { protocol: requesterOf(request, path) } : {}).respondWith<never>(() => {
      core.stayOpen();
      return free();
    });
  };
  /** What goes wrong before a request has its own steps. */
  const failedEarly = (error: unknown): Promise<Response> => {
    let requestId = '';
    try {
      requestId = core.requestIds.next();
    } catch (another) {
      requestId = plainId();
      core.report(another, requestId);
    }
    core.report(error, requestId);
    return Promise.resolve(plainFailure(requestId, error));
  };

  const rejectEarly = (request: Request, path: string, peer: Peer): Response | null => {
    if (core.closed !== null || !core.isOverloaded(1)) return null;
    try {
      return isExempt(path) ? null : reject(core, request, path, peer);
    } catch (error) {
      core.report(error, '');
      return null;
    }
  };

  const openSocket = (request: Request, path: string, peer: Peer): Promise<Conversation | Response> => {
    const incoming = begin(request, path, peer);
    return incoming.respondWith<Conversation>(() => {
      const { user } = incoming.identify();
      const address = peer.ip();
      const caller: Peer = { ip: () => address };
      const socket = sockets.open(user.id, request, {
        deadlines: core.deadlines,
        now: core.now,
        newId: () => core.requestIds.next(),
        report: (error, requestId) => core.report(error, requestId),
        language: languageFor(request.headers.get('accept-language'), user.setting),
        ask: async (turn, of) =>
          rejectEarly(turn, path, caller) ??
          (await begin(turn, path, caller, { socket: of }).respond(relayRouteFor(path)).catch(failedEarly)),
        async check(turn, model) {
          const asked = begin(turn, path, caller);
          const answer = await asked.respondWith<never>(() => asked.mayUse(model));
          return answer.ok ? null : answer;
        },
      });
      // Programs that meet it go on over HTTP at once.
      if (socket === null) throw new AppError('upgrade_refused');
      // Open is what has a turn.
      incoming.over();
      return socket;
    });
  };

  return {
    reject: (request, rawPath, peer) => rejectEarly(request, plainPath(rawPath), peer),
    refusal: (request, rawPath, reason) => refusal(core, request, plainPath(rawPath), reason),
    handle(request, rawPath, peer) {
      try {
        return handle(request, plainPath(rawPath), peer).catch(failedEarly);
      } catch (error) {
        return failedEarly(error);
      }
    },
    test({ channelId, path, body }) {
      try {
        const headers = { 'content-type': 'application/json' };
        const request = new Request(`http://relay${path}`, { method: 'POST', body, headers });
        return begin(request, path, null, { testedChannel: channelId }).respond(relayRouteFor(path));
      } catch (error) {
        return failedEarly(error);
      }
    },
    preview: (order) => previewCall(core, order),
    realtime(request, peer) {
      try {
        const incoming = begin(request, '/v1/realtime', peer);
        return incoming.respondWith<Conversation>(() => openConversation(core, incoming, peer));
      } catch (error) {
        return failedEarly(error);
      }
    },
    async responsesSocket(request, rawPath, peer) {
      try {
        const path = plainPath(rawPath);
        return await (core.state.settings.responsesSockets ? openSocket : handle)(request, path, peer);
      } catch (error) {
        return failedEarly(error);
      }
    },
    endSockets: () => sockets.leave(),
    report: (error, requestId) => void core.report(error, requestId),
    isOutOfLeases: () => core.leaseClient?.isOutOfLeases() === true,
    channelStatuses: (ids, model = null) =>
      ids.map((id) => {
        const channel = core.state.channel(id);
        return channel === undefined
          ? { condition: 'unknown', waitMs: 0 }
          : { condition: core.health.condition(channel, model), waitMs: core.health.waitMs(channel, model) };
      }),
    keyHealth(channelId) {
      const channel = core.state.channel(channelId);
      return channel === undefined ? [] : keyHealthOf(core, channel);
    },
    receive(report) {
      for (const channel of report.channels) core.health.receive(channel);
      for (const pair of report.pairs) core.health.receivePair(pair);
      for (const key of report.keys ?? []) core.keyLog.receive(key);
      core.affinity.receive(report);
    },
    healthToKeep() {
      const hasLogChanged = core.keyLog.takeChanged();
      return core.health.takeChanged() || hasLogChanged ? healthPieces(core) : null;
    },
    open: () => core.open,
    unbilled: () => ({ ...core.unbilled }),
    stats: () => ({
      ...core.stats.read(),
      open: core.open,
      defects: core.defectsMet,
      withoutMember: { ...core.learnt.counts },
      sockets: { open: sockets.count, keptBytes: sockets.kept.bytes },
    }),
    takeTraffic: core.stats.takeTraffic,
    close(reason) {
      core.closed = reason;
      sockets.leave();
    },
    cut(reason) {
      for (const request of [...core.running]) request.cut(reason);
    },
  };
}

function* healthPieces({ health, keyLog }: RelayCore): Generator<HealthPiece, undefined> {
  let isFirst = true;
  for (const piece of health.remembered()) {
    yield { ...piece, isFirst, isLast: false };
    isFirst = false;
  }
  for (const keys of keyLog.remembered()) yield { ...nothingKept, keys, isFirst: false, isLast: false };
  yield { ...nothingKept, isFirst: false, isLast: true };
}

const nothingKept: KeptHealth = { channels: [], pairs: new Float64Array(0) };

function keyHealthOf({ health, keyLog }: RelayCore, channel: ChannelSnapshot): KeyHealth[] {
  const waits = health.keyWaits(channel);
  const names = channel.keyNames ?? channel.keys.slice(0, 1).map(() => '');
  const noWait = { waitMs: 0, spentMs: 0, models: [] };
  const unused = keyLog.namesOf(channel.id).filter((name) => !names.includes(name));
  return [...names, ...unused].map((name, index) => ({
    name,
    ...(index < names.length ? (waits[index] ?? noWait) : noWait),
    ...keyLog.of(channel.id, name),
  }));
}

/** What is answered from memory, and costs nothing; null = the path is none of these. */
function freeEndpoint(
  core: RelayCore,
  request: Request,
  path: string,
  peer: Peer,
  lists: boolean,
): (() => Response | Promise<Response>) | null {
  if (isBillingPath(path)) return () => answerBilling(core, request, path, peer);
  if (lists) return () => listModels(core, request, path, peer);
  if (isGatewayClientPath(path)) return () => answerGatewayClient(core, request, path, peer);
  if (isModelListPath(path)) return () => answerModelList(core, { request, path, peer, bodyLimit: core.bodyLimit });
  return null;
}

function refusal(core: RelayCore, request: Request, path: string, reason: AppError): Response {
  const language = languageFor(request.headers.get('accept-language'), core.authorize.ownerOf(request)?.user.setting);
  const refused = {
    clientError: clientError(reason, core.requestIds.next()),
    retryAfter: retryAfterOf(reason),
    language,
    showsBudgets: core.state.settings.agentSignIn,
  };
  return isModelsPath(path)
    ? refusalFor(request, path, refused, requesterOf(request, path))
    : refusalFor(request, path, refused);
}

/** Asking what there is costs nearly nothing, and a list that is missing stops whole programs. */
const isExempt = (path: string): boolean =>
  isModelsPath(path) || isBillingPath(path) || isGatewayClientPath(path) || taskFor(path) !== null;

const nothingSeen: Seen = { principal: null, parsed: null, unread: false };

/** Load shedding: with thousands of requests too many, refusing each must cost next to nothing. */
function reject(core: RelayCore, request: Request, path: string, peer: Peer): Response {
  const language = languageFor(request.headers.get('accept-language'), core.authorize.ownerOf(request)?.user.setting);
  const { response, requestId, error, clientError } = core.busy.answer(request, path, language);
  const { code } = error;
  core.stats.rejected(code, { userId: 0, tokenId: 0, own: false, nowMs: core.now() });
  core.observer?.rejected({ request, requestId, path, code, status: response.status, seen: nothingSeen });
  core.rejectedRows.note({ request, path, peer, seen: nothingSeen, error, clientError });
  return response;
}
