/** Submits songs and their words. */
import { providerByType } from '../../../providers/catalogue.ts';
import type { Refusal } from '../../delivery/settle.ts';
import type { ParsedRequest } from '../../intake/parsed-request.ts';
import { keepRow, orderTask, reserveOrder, type Submission, type TasksCore } from './submission.ts';

const rejected = (status: number, code: string, message = code): Response =>
  Response.json({ code, message }, { status });
const actions = new Set(['MUSIC', 'LYRICS']);

/** @throws AppError what the caller is refused with. */
export async function submitSuno(core: TasksCore, submission: Submission, word: string): Promise<Response | Refusal> {
  const { parsed, principal, body } = submission;
  const action = word.toUpperCase();
  if (!actions.has(action)) return rejected(400, 'invalid_request', `unknown action ${word}`);
  if (action === 'LYRICS' && (typeof body.prompt !== 'string' || body.prompt === ''))
    return rejected(400, 'prompt_empty');
  const continues = typeof body.continue_clip_id === 'string' && body.continue_clip_id !== '';
  const taskId = typeof body.task_id === 'string' ? body.task_id : '';
  if (continues && taskId === '') return rejected(400, 'invalid_request', 'task id is empty');
  const earlier = continues ? await core.tasks.song(principal.user.id, taskId) : null;
  if (continues && earlier === null) return rejected(400, 'task_not_exist');
  const sent = action === 'MUSIC' ? { mv: 'chirp-v3-0', ...body } : body;
  const order = { path: `/suno/submit/${action}`, bodyFor: () => sent };
  const requested: ParsedRequest = { ...parsed, model: `suno_${action.toLowerCase()}`, order };
  const one = await reserveOrder(submission, requested, earlier?.channel_id ?? null);
  const ordered = await orderTask(core, one, ({ body: response }) => {
    const id = response.code === 'success' && typeof response.data === 'string' ? response.data : null;
    return { paid: id !== null, action, value: id, reason: id === null ? String(response.message ?? '') : '' };
  });
  if ('clientError' in ordered)
    return { ...ordered, clientError: { ...ordered.clientError, code: 'fail_to_fetch_task' } };
  const { answer, value: id } = ordered;
  if (id === null) return rejected(answer.status, 'fail_to_fetch_task', String(answer.body.message ?? ''));
  const { channel } = answer.prepared;
  const at = Math.floor(core.now() / 1000);
  const row = {
    created_at: at,
    updated_at: at,
    task_id: id,
    platform: providerByType(channel.type)?.slug ?? '',
    user_id: principal.user.id,
    token_id: principal.token?.id ?? 0,
    channel_id: channel.id,
    request_id: parsed.requestId,
    quota: one.charged ?? 0,
    action,
    status: 'SUBMITTED',
    fail_reason: '',
    submit_at: at,
    start_at: 0,
    finish_at: 0,
    progress: '0%',
    properties: '',
    data: '',
  };
  await keepRow(core, one, () => core.tasks.addSong(row));
  return Response.json({ code: 'success', message: '', data: id });
}
