/** A provider that can be played: its doors, its keys, its rules and its way of refusing. */
import type { Refusal, Rule } from './rule.ts';
import type { Wire } from './wire.ts';

export interface Door {
  /** `{model}` stands for the part that names the model. */
  readonly path: string;
  readonly wire: Wire;
  readonly rules: readonly Rule[];
  /** Set where the path alone says whether the answer is streamed. */
  readonly stream?: boolean;
  /** Streamed unless the request says otherwise. */
  readonly streamsByDefault?: true;
  /** @returns why a model cannot be asked here; absent = every name is known. */
  readonly unknown?: (model: string) => Refusal | null;
}

export interface Caller {
  readonly headers: Headers;
  readonly query: URLSearchParams;
  readonly method: string;
  readonly url: URL;
  readonly body: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

export interface Double {
  /** As it is asked for. */
  readonly name: string;
  /** Slug of the catalogue, whose shared rows it plays too. */
  readonly slug: string;
  /** Who signs its thoughts. */
  readonly maker: string;
  /** What stands before the paths in its public address. */
  readonly base: string;
  /** @returns why the caller is not let in. */
  readonly admit: (caller: Caller) => Refusal | null | Promise<Refusal | null>;
  readonly doors: readonly Door[];
  readonly complain: (refusal: Refusal) => unknown;
  /** Answers besides chat: tokens for signed keys. @returns null for other paths. */
  readonly other?: (caller: Caller) => Promise<Response | null>;
}

/** Keys that show how a provider turns somebody away: `wrong` in one, `broke` in another. */
function turnedAway(key: string | null): Refusal | null {
  if (key === null || key === '' || key.includes('wrong'))
    return {
      status: 401,
      message: 'Incorrect API key provided.',
      type: 'authentication_error',
      code: 'invalid_api_key',
    };
  if (key.includes('broke'))
    return {
      status: 429,
      message: 'You exceeded your current quota, please check your plan and billing details.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    };
  return null;
}

/** Keys belong into this header and nowhere else. */
export const keyIn =
  (header: string, before = '') =>
  ({ headers, query }: Caller): Refusal | null => {
    if (query.has('key') || query.has('api_key'))
      return { status: 401, message: 'API keys are not taken from addresses.', type: 'authentication_error' };
    const given = headers.get(header);
    return turnedAway(given?.startsWith(before) ? given.slice(before.length) : null);
  };

export const bearer = keyIn('authorization', 'Bearer ');

export const knownModels =
  (models: RegExp) =>
  (model: string): Refusal | null =>
    models.test(model)
      ? null
      : {
          status: 404,
          message: `The model \`${model}\` does not exist or you do not have access to it.`,
          type: 'invalid_request_error',
          code: 'model_not_found',
        };

/** OpenAI's body, as most answer. */
export const openaiBody = ({ message, type = 'invalid_request_error', param, code }: Refusal): unknown => ({
  error: { message, type, param: param ?? null, code: code ?? null },
});
