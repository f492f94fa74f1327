/** Names of drawing actions: what a button or a change means, and the model whose price it has. */
import { guardedLookup } from '../../../protocols/shared/json.ts';

const buttons: Readonly<Record<string, string>> = {
  upsample: 'UPSCALE',
  upsample_v5_2x: 'UPSCALE',
  upsample_v5_4x: 'UPSCALE',
  upsample_v6_2x_subtle: 'UPSCALE',
  upsample_v6_2x_creative: 'UPSCALE',
  variation: 'VARIATION',
  low_variation: 'LOW_VARIATION',
  high_variation: 'HIGH_VARIATION',
  reroll: 'REROLL',
};

/** @returns the action of a `customId`, with the picture's number where it has one; null when it is unknown. */
export function actionOf(customId: string): { readonly action: string; readonly index: number } | null {
  const parts = customId.split('::');
  const [, , kind = ''] = parts;
  const number = Number(parts[3]);
  const index = Number.isInteger(number) ? number : 0;
  if (customId.startsWith('MJ::CustomZoom')) return { action: 'CUSTOM_ZOOM', index: 0 };
  if (customId.startsWith('MJ::Inpaint')) return { action: 'INPAINT', index: 0 };
  if (customId.startsWith('MJ::Outpaint')) return { action: 'ZOOM', index: 0 };
  const found = guardedLookup(buttons, kind);
  if (found !== undefined) return { action: found, index };
  return kind.startsWith('pan_') ? { action: 'PAN', index: 0 } : null;
}

const fixed: Readonly<Record<string, string>> = {
  imagine: 'IMAGINE',
  describe: 'DESCRIBE',
  blend: 'BLEND',
  shorten: 'SHORTEN',
  modal: 'MODAL',
  swap: 'SWAP_FACE',
  'upload-discord-images': 'UPLOAD',
  edits: 'EDITS',
  video: 'VIDEO',
};

/** `<task id> U2`, `V3` or `R`. */
const simple = /^(\S+)\s+(?:([uv])([1-4])|(r))$/i;

export interface Order {
  readonly action: string;
  /** The earlier drawing that is continued, '' = none. */
  readonly taskId: string;
  /** The body as the upstream's plain `change` wants it, when the client used the short form. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** @returns the missing or wrong member as a message of the wire contract. */
export function orderOf(submit: string, body: Readonly<Record<string, unknown>>): Order | string {
  const taskId = typeof body.taskId === 'string' ? body.taskId : '';
  switch (submit) {
    case 'imagine':
      return typeof body.prompt === 'string' && body.prompt !== ''
        ? { action: 'IMAGINE', taskId: '', body }
        : 'prompt_is_required';
    case 'change': {
      if (taskId === '') return 'task_id_is_required';
      const action = typeof body.action === 'string' ? body.action.toUpperCase() : '';
      if (action === '') return 'action_is_required';
      if (action !== 'REROLL' && !(Number(body.index) > 0)) return 'index_is_required';
      return { action, taskId, body };
    }
    case 'simple-change': {
      const found = simple.exec(typeof body.content === 'string' ? body.content.trim() : '');
      if (found === null) return 'content_is_invalid';
      const [, id = '', letter, , reroll] = found;
      const action = reroll === undefined ? (letter?.toLowerCase() === 'u' ? 'UPSCALE' : 'VARIATION') : 'REROLL';
      return { action, taskId: id, body };
    }
    case 'action': {
      if (taskId === '') return 'task_id_is_required';
      const found = actionOf(typeof body.customId === 'string' ? body.customId : '');
      return found === null ? 'custom_id_is_invalid' : { action: found.action, taskId, body };
    }
    case 'modal':
      return taskId === '' ? 'task_id_is_required' : { action: 'MODAL', taskId, body };
    default:
      return { action: guardedLookup(fixed, submit) ?? submit.toUpperCase(), taskId: '', body };
  }
}

export const drawingModel = (action: string): string =>
  action === 'SWAP_FACE' ? 'swap_face' : `mj_${action.toLowerCase()}`;

/** Paid with the dialog that follows them. */
export const isFree = (action: string): boolean => action === 'INPAINT' || action === 'CUSTOM_ZOOM';
