/** Submits drawings to a midjourney-proxy. */
import { providerByType } from '../../../providers/catalogue.ts';
import type { Inquiry } from '../../intake/inquiry.ts';
import type { ChannelSnapshot } from '../../state/snapshot.ts';
import { drawingModel, isFree, orderOf } from './actions.ts';
import { modeOf, type Work } from './routes.ts';
import type { Drawing } from './store.ts';
import { callUpstream, complaint, type Submission, settleWork, type WorksDeps } from './submission.ts';

/** Codes of midjourney-proxy: accepted, exists already, queued. */
const accepted = new Set([1, 21, 22]);
const modeWords = /--(fast|relax|turbo)\b/g;

export function createDraw(deps: WorksDeps) {
  const reachOf = (channel: ChannelSnapshot) => ({
    baseUrl: providerByType(channel.type)?.baseUrl ?? '',
    headers: { 'mj-api-secret': channel.keys[0] ?? '' },
  });

  const bodyFor = (body: Readonly<Record<string, unknown>>, mode: string, channel: ChannelSnapshot) => {
    const { keepAccountFilter, notifies, clearsMode, serverAddress } = deps.state.settings().drawing;
    const { accountFilter, notifyHook: _, prompt, ...rest } = body;
    const wished = mode === '' ? {} : { accountFilter: { modes: [mode.toUpperCase()] } };
    return {
      ...rest,
      ...(typeof prompt === 'string' ? { prompt: clearsMode ? prompt.replace(modeWords, '').trim() : prompt } : {}),
      ...(keepAccountFilter && accountFilter !== undefined ? { accountFilter } : wished),
      ...(notifies && serverAddress !== ''
        ? { notifyHook: `${serverAddress}/mj/notify/${channel.id}/${deps.authorise.proofOf(channel.id)}` }
        : {}),
    };
  };

  const submit = async ({ inquiry, principal, body }: Submission, work: Extract<Work, { kind: 'draw' }>) => {
    const order = orderOf(work.submit, body);
    if (typeof order === 'string') return complaint(400, 4, order);
    const { action } = order;
    const earlier = order.taskId === '' ? null : await deps.store.drawing(principal.user.id, order.taskId);
    if (order.taskId !== '' && earlier === null) return complaint(400, 4, 'task_not_found');
    const mustBeDone = deps.state.settings().drawing.checksSuccess && action !== 'MODAL';
    if (earlier !== null && mustBeDone && earlier.status !== 'SUCCESS')
      return complaint(400, 4, 'task_status_not_success');
    const asked: Inquiry = { ...inquiry, model: drawingModel(action) };
    deps.authorise.allowModel(principal, asked.model);
    // What continues a drawing goes where that was made.
    const pinned = earlier === null ? principal : { ...principal, pinnedChannel: earlier.channel_id };
    const exchange = await deps.admit(asked, pinned, false);
    const [channel] = exchange.plan.candidates;
    if (channel === undefined) return complaint(503, 4, 'channel_unavailable');
    const told = await callUpstream(deps, channel, {
      ...reachOf(channel),
      path: work.path,
      body: bodyFor(body, modeOf(work.mode), channel),
    });
    const code = Number(told?.body.code ?? 4);
    const paid = told !== null && told.status === 200 && accepted.has(code) && !isFree(action);
    const now = deps.now();
    const answer = told?.body ?? {};
    const mjId = String(answer.result ?? '');
    const done = code === 21 || (action === 'UPLOAD' && code === 1);
    const properties = (answer.properties ?? {}) as Record<string, unknown>;
    // Money first: a row without its charge would be a gift, a charge without its row is refunded by nobody.
    await settleWork(exchange, channel, { paid, content: `模型固定价格，操作 ${action}` }, deps.now);
    if (told !== null && accepted.has(code) && mjId !== '') {
      await deps.store.addDrawing({
        user_id: principal.user.id,
        token_id: principal.token?.id ?? 0,
        channel_id: channel.id,
        request_id: inquiry.requestId,
        quota: exchange.charge.charged ?? 0,
        code,
        action,
        mj_id: mjId,
        prompt: typeof body.prompt === 'string' ? body.prompt : '',
        prompt_en: '',
        description: String(answer.description ?? ''),
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
      });
    }
    if (told === null) return complaint(502, 4, 'bad_response_from_upstream');
    const shown = accepted.has(code) && !isFree(action) ? 1 : code;
    return Response.json({ ...answer, code: shown }, { status: told.status });
  };

  const seed = async (drawing: Drawing): Promise<Response> => {
    const channel = deps.state.channel(drawing.channel_id);
    if (channel === undefined) return complaint(400, 4, '该任务所属渠道已被禁用');
    const path = `/mj/task/${encodeURIComponent(drawing.mj_id)}/image-seed`;
    const told = await callUpstream(deps, channel, { ...reachOf(channel), path, body: null });
    return told === null ? complaint(502, 4, 'bad_response_from_upstream') : Response.json(told.body);
  };
  return Object.assign(submit, { seed });
}
