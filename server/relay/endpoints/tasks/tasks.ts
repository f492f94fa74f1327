/** Drawings and songs: submitted like any paid request, kept as rows, fetched by their owner. */
import { AppError } from '../../../contract/errors.ts';
import { parseJson, record } from '../../../protocols/shared/json.ts';
import type { Admission } from '../../admission/limits.ts';
import type { Refusal } from '../../delivery/finish-request.ts';
import { inquiryFor } from '../../intake/bare-inquiry.ts';
import type { Principal } from '../../intake/inquiry.ts';
import { readBody } from '../../intake/packed-body.ts';
import { parse } from '../../intake/parse.ts';
import { isMedia } from '../../shared/sealed.ts';
import { createDraw } from './draw.ts';
import type { TaskRoute } from './routes.ts';
import { createSing } from './sing.ts';
import type { Drawing, Song } from './store.ts';
import { callTimeoutMs, complaint, type Submission, type TasksDeps } from './submission.ts';

/** Before the action says which model it is. */
const modelNames = { drawing: 'mj', music: 'song' } as const;
const imageLimit = 32 * 1024 * 1024;

/** Bytes of a list of ids: nobody pays for the question. */
const listLimit = 1024 * 1024;

/** A request, and who looks at its caller. */
export interface Arrived {
  readonly request: Request;
  readonly requestId: string;
  /** @throws AppError token_*, user_disabled, overloaded. */
  readonly identify: () => Principal;
  /** @throws AppError why the caller is refused before the order is read. */
  readonly pass: (principal: Principal) => Admission | Promise<Admission>;
}

export function createTasks(deps: TasksDeps) {
  const draw = createDraw(deps);
  const sing = createSing(deps);

  const submission = async (
    { request, requestId, pass }: Arrived,
    principal: Principal,
    operation: keyof typeof modelNames,
  ): Promise<Submission> => {
    const admission = await pass(principal);
    try {
      const route = { path: new URL(request.url).pathname, protocol: 'openai-chat' as const, operation };
      const context = { requestId, startedMs: deps.now(), bodyLimit: deps.bodyLimit };
      const inquiry = await parse(request, { route, model: modelNames[operation] }, context);
      deps.heard(request);
      return { inquiry, principal, body: inquiry.body, admission };
    } catch (error) {
      deps.gates.ended(admission, false);
      throw error;
    }
  };
  /** Nothing stays counted of an order that was not let in. */
  const submit = async <T>(order: Submission, submitted: Promise<T>): Promise<T> => {
    try {
      return await submitted;
    } finally {
      if (order.admission !== null) deps.gates.withdraw(order.admission);
    }
  };

  /** @throws AppError what the caller is told. */
  const handle = async (route: TaskRoute, arrived: Arrived): Promise<Response | Refusal> => {
    const { request, requestId } = arrived;
    if (route.kind === 'image') return image(deps, route.mjId);
    if (route.kind === 'notify') return notify(deps, route, request);
    const principal = arrived.identify();
    switch (route.kind) {
      case 'draw': {
        if (!deps.state.settings().drawing.draws) throw new AppError('drawing_closed');
        const order = await submission(arrived, principal, 'drawing');
        return submit(order, draw(order, route));
      }
      case 'sing': {
        if (!deps.state.settings().drawing.sings) throw new AppError('tasks_closed');
        const order = await submission(arrived, principal, 'music');
        return submit(order, sing(order, route.action));
      }
      case 'drawing': {
        const found = await deps.store.drawing(principal.user.id, route.mjId);
        if (found === null) return complaint(404, 4, 'task_no_found');
        if (route.seed)
          return draw.seed(found, inquiryFor(request, { requestId, startedMs: deps.now(), operation: 'drawing' }));
        return Response.json(drawingView(deps, found, originOf(request)));
      }
      case 'drawings': {
        const { ids } = await jsonOf(request, listLimit);
        deps.heard(request);
        const wanted = Array.isArray(ids) ? ids.map(String) : [];
        const found = await deps.store.drawings(principal.user.id, wanted);
        return Response.json(found.map((drawing) => drawingView(deps, drawing, originOf(request))));
      }
      case 'song': {
        const found = await deps.store.song(principal.user.id, route.taskId);
        return found === null
          ? Response.json({ code: 'task_not_exist', message: 'task_not_exist' }, { status: 400 })
          : Response.json({ code: 'success', message: '', data: songView(found) });
      }
      case 'songs': {
        const { ids } = await jsonOf(request, listLimit);
        deps.heard(request);
        const found = await deps.store.songs(principal.user.id, Array.isArray(ids) ? ids.map(String) : []);
        return Response.json({ code: 'success', message: '', data: found.map(songView) });
      }
    }
  };

  return handle;
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? null : text;
  }
};

/** @throws AppError body_*. */
async function jsonOf(request: Request, limit: number): Promise<Record<string, unknown>> {
  const bytes = await readBody(request, limit);
  const body = record(parseJson(new TextDecoder().decode(bytes)));
  if (body === null) throw new AppError('body_not_json');
  return body;
}

const originOf = (request: Request): string => new URL(request.url).origin;

/** What a client of midjourney-proxy reads. */
function drawingView({ state }: TasksDeps, drawing: Drawing, origin: string) {
  const { forwardImages, serverAddress } = state.settings().drawing;
  const picture =
    drawing.image_url !== '' && forwardImages
      ? `${serverAddress || origin}/mj/image/${drawing.mj_id}`
      : drawing.image_url;
  return {
    id: drawing.mj_id,
    action: drawing.action,
    prompt: drawing.prompt,
    promptEn: drawing.prompt_en,
    description: drawing.description,
    state: drawing.state,
    submitTime: drawing.submit_ms,
    startTime: drawing.start_ms,
    finishTime: drawing.finish_ms,
    imageUrl: picture,
    status: drawing.status,
    progress: drawing.progress,
    failReason: drawing.fail_reason,
    buttons: parsed(drawing.buttons),
    properties: parsed(drawing.properties),
  };
}

const songView = (song: Song) => ({
  task_id: song.task_id,
  action: song.action,
  status: song.status,
  fail_reason: song.fail_reason,
  submit_time: song.submit_at,
  start_time: song.start_at,
  finish_time: song.finish_at,
  progress: song.progress,
  data: parsed(song.data),
});

/** The picture itself, so that clients never learn where the upstream keeps it. */
async function image(deps: TasksDeps, mjId: string): Promise<Response> {
  const address = await deps.store.mjImage(mjId);
  if (!/^https?:\/\//.test(address)) return complaint(404, 4, 'task_no_found');
  try {
    const response = await deps.fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(callTimeoutMs) });
    const type = response.headers.get('content-type') ?? '';
    const size = Number(response.headers.get('content-length') ?? 0);
    if (!response.ok || !isMedia(type) || size > imageLimit) return complaint(502, 4, 'image_unavailable');
    return new Response(response.body, { headers: { 'content-type': type } });
  } catch {
    return complaint(502, 4, 'image_unavailable');
  }
}

/** An upstream's own report. The address it was given carries a proof that only this gateway can make. */
async function notify(
  deps: TasksDeps,
  route: Extract<TaskRoute, { kind: 'notify' }>,
  request: Request,
): Promise<Response> {
  if (route.proof === '') return complaint(403, 4, 'reports are taken at the address that came with the order only');
  if (!deps.authorise.provesChannel(route.channelId, route.proof)) throw new AppError('token_invalid');
  const report = await jsonOf(request, deps.bodyLimit);
  deps.heard(request);
  const known = await deps.store.noteDrawing(route.channelId, report);
  return known ? Response.json({ code: 1, description: 'success' }) : complaint(404, 4, 'task_no_found');
}
