/** Submits drawings to a midjourney-proxy. */
import { AppError } from '../../../contract/errors.ts';
import { allowChannel } from '../../../contract/key-channels.ts';
import { languageFor, textIn } from '../../../contract/language.ts';
import type { ChannelSnapshot } from '../../../contract/snapshot.ts';
import { record } from '../../../protocols/shared/json.ts';
import type { Refusal } from '../../delivery/settle.ts';
import type { ParsedRequest, Principal } from '../../intake/parsed-request.ts';
import { prepare } from '../../upstream/prepare.ts';
import { drawingModel, isFree, orderOf } from './actions.ts';
import { modeOf, type TaskRoute } from './routes.ts';
import type { Drawing } from './store.ts';
import {
  askForTask,
  keepRow,
  orderTask,
  reserveOrder,
  type Submission,
  type TaskAnswer,
  type TasksCore,
  taskError,
} from './submission.ts';
import { modeWords, workOf } from './work.ts';

const channelClosed = { zh: '该任务所属渠道已被禁用', en: 'The channel of this task is disabled' };

/** Codes of midjourney-proxy: accepted, exists already, queued. */
const accepted = new Set([1, 21, 22]);

function bodyFor(core: TasksCore, body: Readonly<Record<string, unknown>>, mode: string, channel: ChannelSnapshot) {
  const { keepAccountFilter, forwardsCallbacks, clearsMode, serverAddress } = core.state.settings.drawing;
  const { accountFilter, notifyHook: _, prompt, ...rest } = body;
  const filter = mode === '' ? {} : { accountFilter: { modes: [mode.toUpperCase()] } };
  return {
    ...rest,
    ...(typeof prompt === 'string' ? { prompt: clearsMode ? prompt.replace(modeWords, '').trim() : prompt } : {}),
    ...(keepAccountFilter && accountFilter !== undefined ? { accountFilter } : filter),
    ...(forwardsCallbacks && serverAddress !== ''
      ? { notifyHook: `${serverAddress}/mj/notify/${channel.id}/${core.authorize.proofOf(channel.id)}` }
      : {}),
  };
}

/** @throws AppError what the caller is refused with. */
export async function submitMidjourney(
  core: TasksCore,
  submission: Submission,
  route: Extract<TaskRoute, { kind: 'draw' }>,
): Promise<Response | Refusal> {
  const { parsed, principal, body } = submission;
  const order = orderOf(route.submit, body);
  if (typeof order === 'string') return taskError(400, 4, order);
  const { action } = order;
  const earlier = order.taskId === '' ? null : await core.tasks.drawing(principal.user.id, order.taskId);
  if (order.taskId !== '' && earlier === null) return taskError(400, 4, 'task_not_found');
  const mustBeDone = core.state.settings.drawing.checksSuccess && action !== 'MODAL';
  if (earlier !== null && mustBeDone && earlier.status !== 'SUCCESS')
    return taskError(400, 4, 'task_status_not_success');
  const { drawing, priceTables } = core.state.settings;
  const model = drawingModel(action);
  const mode = modeOf(route.mode);
  const work = workOf({ action, model, body, mode }, drawing, priceTables.termRules);
  const requested: ParsedRequest = {
    ...parsed,
    model,
    order: {
      path: route.path,
      bodyFor: (channel) => bodyFor(core, body, mode, channel),
      ...(work === undefined ? {} : { work }),
    },
  };
  // A follow-up of a drawing goes to the channel that made it.
  const one = await reserveOrder(submission, requested, earlier?.channel_id ?? null);
  const ordered = await orderTask(core, one, (answer) => {
    const { status, body: response } = answer;
    const code = Number(response.code ?? 4);
    const isKept = accepted.has(code) && String(response.result ?? '') !== '';
    const taken = status === 200 && accepted.has(code);
    return {
      paid: taken && !isFree(action),
      action,
      // Put together before the money: what goes wrong with it costs nothing.
      value: {
        row: isKept ? rowOf(submission, answer, { action, code, now: core.now() }) : null,
        shown: { ...response, code: accepted.has(code) && !isFree(action) ? 1 : code },
      },
      reason: taken ? '' : String(response.description ?? ''),
    };
  });
  if ('clientError' in ordered) return ordered;
  const { answer, value } = ordered;
  const { row } = value;
  if (row !== null) await keepRow(core, one, () => core.tasks.addDrawing({ ...row, quota: one.charged ?? 0 }));
  return Response.json(value.shown, { status: answer.status });
}

/** Returns a drawing's seed from the upstream. @throws AppError channel_pin_unbound */
export async function seedOf(
  core: TasksCore,
  drawing: Drawing,
  parsed: ParsedRequest,
  { user, token }: Principal,
): Promise<Response> {
  allowChannel(token?.channels, drawing.channel_id);
  const channel = core.state.channel(drawing.channel_id);
  if (channel === undefined) {
    const language = languageFor(parsed.request.headers.get('accept-language'), user.setting);
    return taskError(400, 4, textIn(channelClosed, language));
  }
  const path = `/mj/task/${encodeURIComponent(drawing.mj_id)}/image-seed`;
  const requested: ParsedRequest = { ...parsed, model: drawingModel('SEED'), order: { path, bodyFor: () => null } };
  const key = core.health.pickKey(channel, requested.model);
  const prepared = prepare(requested, channel, key, core.state.settings);
  if (prepared instanceof AppError) throw prepared;
  const response = prepared === null ? null : await askForTask(core, prepared, new AbortController());
  return response === null || !('body' in response)
    ? taskError(502, 4, 'bad_response_from_upstream')
    : Response.json(response.body);
}

interface RowInput {
  readonly action: string;
  readonly code: number;
  readonly now: number;
}

function rowOf(
  { parsed, principal, body }: Submission,
  answer: TaskAnswer,
  { action, code, now }: RowInput,
): Omit<Drawing, 'id' | 'quota'> {
  const { result, description } = answer.body;
  const done = code === 21 || (action === 'UPLOAD' && code === 1);
  const properties = record(answer.body.properties) ?? {};
  return {
    user_id: principal.user.id,
    token_id: principal.token?.id ?? 0,
    channel_id: answer.prepared.channel.id,
    request_id: parsed.requestId,
    code,
    action,
    mj_id: String(result ?? ''),
    prompt: typeof body.prompt === 'string' ? body.prompt : '',
    prompt_en: '',
    description: String(description ?? ''),
    state: typeof body.state === 'string' ? body.state : '',
    submit_ms: now,
    start_ms: done ? now : 0,
    finish_ms: done ? now : 0,
    image_url: typeof properties.imageUrl === 'string' ? properties.imageUrl : '',
    status: done ? String(properties.status ?? 'SUCCESS') : '',
    progress: done ? '100%' : '0%',
    fail_reason: '',
    buttons: '',
    properties: JSON.stringify(properties),
  };
}
