/** Responses to requests that cannot be served in time. Built once for each form: with thousands of them, each must cost next to nothing. */
import type { Language } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ClientError } from '../../protocols/codec.ts';
import { clientError, refusalOf, retryAfterOf } from './render-error.ts';
import { sealed } from './safe-headers.ts';

/** Not all come back at the same moment. */
const errors = [1, 2, 3].map((seconds) => new AppError('overloaded', { seconds }));

export interface BusyAnswer {
  readonly response: Response;
  readonly requestId: string;
  readonly error: AppError;
  clientError(): ClientError;
}

interface Form {
  /** Around the request's id. */
  readonly text: readonly string[];
  readonly status: number;
  readonly headers: Headers;
  readonly isNamed: boolean;
}

const idHeader = 'x-oneapi-request-id';
/** Stands for the id while a form is made; nothing else in it looks so. */
const idMark = '<request id>';
/** Paths may name models. */
const maxForms = 300;

function formOf(request: Request, path: string, language: Language, error: AppError): Form {
  const refusal = {
    clientError: clientError(error, idMark),
    retryAfter: retryAfterOf(error),
    language,
    showsBudgets: false,
  };
  const { text, ...init } = refusalOf(request, path, refusal);
  const { headers } = sealed(new Response(null, init));
  return { text: text.split(idMark), status: init.status, headers, isNamed: headers.has(idHeader) };
}

export interface BusyResponses {
  /** For callers that get another response. */
  error(): AppError;
  answer(request: Request, path: string, language: Language): BusyAnswer;
}

export function createBusyResponses(nextId: () => string): BusyResponses {
  const known = new Map<string, Form>();
  let serial = 0;
  const nextError = () => errors[serial++ % errors.length] as AppError;
  /** The form follows from path, query and language; queries may hold keys, and nothing is remembered by them. */
  const knownForm = (request: Request, path: string, language: Language, error: AppError): Form => {
    if (request.url.includes('?')) return formOf(request, path, language, error);
    const name = `${error.params.seconds} ${path} ${language}`;
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= maxForms) known.clear();
    const form = formOf(request, path, language, error);
    known.set(name, form);
    return form;
  };
  return {
    error: nextError,
    answer(request, path, language) {
      const error = nextError();
      const { text, status, headers, isNamed } = knownForm(request, path, language, error);
      const requestId = nextId();
      const response = new Response(text.join(requestId), { status, headers });
      if (isNamed) response.headers.set(idHeader, requestId);
      return { response, requestId, error, clientError: () => clientError(error, requestId) };
    },
  };
}
