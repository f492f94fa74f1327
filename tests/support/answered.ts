/** The network of a site of fixed answers: what a call of an endpoint gets, and that it was made. */
import { endpoints } from '../../server/contract/endpoints/index.ts';

export type Given = Readonly<Record<string, unknown>>;

export interface AnsweredOptions {
  /** By endpoint, or by method and address where there is none: its answer, or what makes one of the fields; a response is sent as it is. */
  readonly answers: Given;
  /** Instead of an answer to all but these. */
  readonly refusal?:
    | {
        readonly message: string;
        readonly code: string;
        readonly but?: readonly string[];
        /** Reading is answered, changing is refused. */
        readonly changesOnly?: boolean | undefined;
      }
    | undefined;
  /** Gets each call: `token.list p=0`. */
  readonly onCall: (call: string, isChange: boolean) => void;
  /** Gets a read that has no answer. */
  readonly onUnanswered?: (id: string) => void;
  /** Gets each call that the endpoint's own schema does not take. */
  readonly onMisfit?: (call: string) => void;
}

const patterns = endpoints.map((row) => ({
  row,
  pattern: new RegExp(`^${row.path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
  exact: !row.path.includes(':'),
}));
function endpointOf(method: string, pathname: string) {
  const found = patterns
    .filter(({ row, pattern }) => row.method === method && pattern.test(pathname))
    .sort((a, b) => Number(b.exact) - Number(a.exact))[0];
  return found === undefined ? null : { row: found.row, parts: found.pattern.exec(pathname)?.groups ?? {} };
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const success = (data: unknown, headers: Record<string, string>) =>
  Response.json({ success: true, message: '', data }, { headers });

export function answered(address: string, init: RequestInit, options: AnsweredOptions): Response {
  const { pathname, searchParams } = new URL(address, 'https://site.example');
  const method = init.method ?? 'GET';
  const found = endpointOf(method, pathname);
  const body = typeof init.body === 'string' ? (JSON.parse(init.body) as object) : {};
  const fields = { ...Object.fromEntries(searchParams), ...found?.parts, ...body };
  const id = found?.row.id ?? `${method} ${pathname}`;
  const fieldTexts = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  const isWorded = new Headers(init.headers).has('accept-language');
  const mutation = found !== null && 'mutation' in found.row ? found.row.mutation : undefined;
  const isChange = mutation ?? method !== 'GET';
  const call = [id, ...fieldTexts, ...(isWorded ? [] : ['without a language'])].join(' ');
  options.onCall(call, isChange);
  if (found?.row.input.safeParse(fields).success === false) options.onMisfit?.(call);
  const { answers, refusal } = options;
  const given = answers[id];
  const data: unknown = typeof given === 'function' ? given(fields) : (given ?? null);
  if (data instanceof Response) return data.clone() as Response;
  if (found === null) return Response.json({ error: { message: 'nothing here' } }, { status: 404 });
  const isRefused =
    refusal !== undefined && !(refusal.but ?? []).includes(id) && (isChange || refusal.changesOnly !== true);
  if (isRefused)
    return Response.json({ success: false, message: refusal.message, code: refusal.code }, { status: 500 });
  const envelope = 'envelope' in found.row ? found.row.envelope : 'data';
  if (envelope === 'file') return new Response('a file\n');
  if (!(id in answers) && method === 'GET' && !('mutation' in found.row)) options.onUnanswered?.(id);
  if (envelope === 'raw') return Response.json(data);
  return success(data, Array.isArray(data) ? { 'x-total-count': String(data.length) } : {});
}
