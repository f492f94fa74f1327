/** Drawings and songs: submitted like any paid request, kept as rows, fetched by their owner. */
import { AppError } from '../../../contract/errors.ts';
import { ownShortageIn, rethrowOutOfMemory, shortageSeconds } from '../../../contract/own-shortage.ts';
import { parseJson, record } from '../../../protocols/shared/json.ts';
import type { Refusal } from '../../delivery/settle.ts';
import { readBody } from '../../intake/compressed-body.ts';
import { parse } from '../../intake/parse.ts';
import { inServingGroup, type Principal, requestWithoutBody } from '../../intake/parsed-request.ts';
import { isMedia } from '../../shared/safe-headers.ts';
import { seedOf, submitMidjourney } from './midjourney.ts';
import type { TaskRoute } from './routes.ts';
import type { Drawing, Song } from './store.ts';
import { callTimeoutMs, type Submission, type TaskRequest, type TasksCore, taskError } from './submission.ts';
import { submitSuno } from './suno.ts';

/** Before the action says which model it is. */
const modelNames = { drawing: 'mj', music: 'song' } as const;
const imageLimit = 32 * 1024 * 1024;

/** Bytes of a list of ids: the query is free. */
const listLimit = 1024 * 1024;

/** Gate and body of an order. */
async function readOrder(
  core: TasksCore,
  incoming: TaskRequest,
  caller: Principal,
  operation: keyof typeof modelNames,
): Promise<Submission> {
  const { request, requestId } = incoming;
  const principal = inServingGroup(core.state, caller, modelNames[operation]);
  await incoming.pass(principal, false);
  const route = { path: new URL(request.url).pathname, protocol: 'openai-chat' as const, operation };
  const context = { requestId, startedMs: core.now(), bodyLimit: core.bodyLimit, holder: incoming };
  const parsed = await parse(request, { route, model: modelNames[operation] }, context);
  incoming.orderRead();
  return { incoming, parsed, principal, body: parsed.body };
}

/** @throws AppError what the caller is refused with. */
export async function answerTask(
  core: TasksCore,
  route: TaskRoute,
  incoming: TaskRequest,
): Promise<Response | Refusal> {
  const { request, requestId } = incoming;
  // Pictures, and reports about work that was paid for, pass to the end.
  if (route.kind === 'image') return image(core, route.mjId);
  if (route.kind === 'notify') return notify(core, route, request);
  const principal = incoming.identify();
  // biome-ignore lint/nursery/useExhaustiveSwitchCases: the two that are missing have returned above
  switch (route.kind) {
    case 'draw': {
      if (!core.state.settings.drawing.enabled) throw new AppError('drawing_closed');
      return submitMidjourney(core, await readOrder(core, incoming, principal, 'drawing'), route);
    }
    case 'sing': {
      if (!core.state.settings.drawing.songsEnabled) throw new AppError('tasks_closed');
      return submitSuno(core, await readOrder(core, incoming, principal, 'music'), route.action);
    }
    case 'drawing': {
      const found = await core.tasks.drawing(principal.user.id, route.mjId);
      if (found === null) return taskError(404, 4, 'task_no_found');
      if (route.seed)
        return seedOf(
          core,
          found,
          requestWithoutBody(request, { requestId, startedMs: core.now(), operation: 'drawing' }),
          principal,
        );
      return Response.json(drawingView(core, found, originOf(request)));
    }
    case 'drawings': {
      const ids = await idsOf(request);
      core.watch?.onReceived(request);
      const found = await core.tasks.drawings(principal.user.id, ids);
      return Response.json(found.map((drawing) => drawingView(core, drawing, originOf(request))));
    }
    case 'song': {
      const found = await core.tasks.song(principal.user.id, route.taskId);
      return found === null
        ? Response.json({ code: 'task_not_exist', message: 'task_not_exist' }, { status: 400 })
        : Response.json({ code: 'success', message: '', data: songView(found) });
    }
    case 'songs': {
      const ids = await idsOf(request);
      core.watch?.onReceived(request);
      const found = await core.tasks.songs(principal.user.id, ids);
      return Response.json({ code: 'success', message: '', data: found.map(songView) });
    }
  }
}

const parsedText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    rethrowOutOfMemory(error);
    return text === '' ? null : text;
  }
};

/** @throws AppError body_*. */
async function jsonOf(request: Request, limit: number): Promise<Record<string, unknown>> {
  const bytes = await readBody(request, { limit });
  const body = record(parseJson(new TextDecoder().decode(bytes)));
  if (body === null) throw new AppError('body_not_json');
  return body;
}

/** Numbers are ids too; what is nested is none. @throws AppError body_*. */
async function idsOf(request: Request): Promise<string[]> {
  const { ids } = await jsonOf(request, listLimit);
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string' || typeof id === 'number').map(String) : [];
}

const originOf = (request: Request): string => new URL(request.url).origin;

/** A drawing as a client of midjourney-proxy reads it. */
function drawingView({ state }: TasksCore, drawing: Drawing, origin: string) {
  const { forwardImages, serverAddress } = state.settings.drawing;
  const imageAt =
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
    imageUrl: imageAt,
    status: drawing.status,
    progress: drawing.progress,
    failReason: drawing.fail_reason,
    buttons: parsedText(drawing.buttons),
    properties: parsedText(drawing.properties),
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
  data: parsedText(song.data),
});

/** The picture itself, so that clients never learn where the upstream keeps it. */
async function image(core: TasksCore, mjId: string): Promise<Response> {
  const address = await core.tasks.mjImage(mjId);
  if (!/^https?:\/\//.test(address)) return taskError(404, 4, 'task_no_found');
  const response = await fetched(core, address);
  const type = response?.headers.get('content-type') ?? '';
  const size = Number(response?.headers.get('content-length') ?? 0);
  if (response === null || !response.ok || !isMedia(type) || size > imageLimit)
    return taskError(502, 4, 'image_unavailable');
  return new Response(response.body, { headers: { 'content-type': type } });
}

/** @returns null when the picture's host cannot be reached. @throws AppError overloaded: nothing of ours is left to reach it with. */
async function fetched(core: TasksCore, address: string): Promise<Response | null> {
  const abort = new AbortController();
  core.timers.set(() => abort.abort(), callTimeoutMs).unref();
  try {
    return await core.fetch(address, { redirect: 'manual', signal: abort.signal });
  } catch (cause) {
    if (ownShortageIn(cause, address) !== null) throw new AppError('overloaded', { seconds: shortageSeconds }, cause);
    return null;
  }
}

/** An upstream's own report. Its address carries a proof that only this gateway can make. */
async function notify(
  core: TasksCore,
  route: Extract<TaskRoute, { kind: 'notify' }>,
  request: Request,
): Promise<Response> {
  if (route.proof === '') return taskError(403, 4, 'reports are taken at the address that came with the order only');
  if (!core.authorize.provesChannel(route.channelId, route.proof)) throw new AppError('token_invalid');
  const report = await jsonOf(request, core.bodyLimit);
  core.watch?.onReceived(request);
  const known = await core.tasks.noteDrawing(route.channelId, report);
  return known ? Response.json({ code: 1, description: 'success' }) : taskError(404, 4, 'task_no_found');
}
