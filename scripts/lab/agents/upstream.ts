/** A provider in every dialect whose model can do one thing: read a file with the tool it is offered, write another with what was in it, and say so. */
import type { ChatEvent, ChatRequest, Part, ProtocolId, Tool } from '../../../server/protocols/canonical.ts';
import { allCodecs, codecFor } from '../../../server/protocols/registry.ts';
import { emptyUsage } from '../../../server/protocols/shared/usage.ts';

export interface Task {
  readonly source: string;
  readonly target: string;
  /** How often the file is read before the other is written; once, unless said. */
  readonly reads?: number;
}

interface Used {
  readonly input: number;
  readonly output: number;
}

export const doneWords = 'The task is done.';

type Schema = { readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly enum?: unknown }>> };
export type Call = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

const schemaOf = (tool: Tool): Schema => (tool.schema ?? {}) as Schema;
const shellTools = /^(?:shell|shell_command|exec_command|run_shell_command|bash|container\.exec)$/i;
const readTools = /^(?:read|read_file)$/i;
const writeTools = /^(?:write|write_file)$/i;

/** Arguments for a tool that works on a path, by whatever name it has. */
function withPath(tool: Tool, path: string, content?: string): Call {
  const names = Object.keys(schemaOf(tool).properties ?? {});
  const place = names.find((name) => /^(?:file_?path|absolute_path|path)$/i.test(name)) ?? 'file_path';
  return { name: tool.name, arguments: { [place]: path, ...(content === undefined ? {} : { content }) } };
}

function withCommand(tool: Tool, line: string): Call {
  const properties = schemaOf(tool).properties ?? {};
  const [name, form] = Object.entries(properties).find(([one]) => one === 'cmd' || one === 'command') ?? [
    'command',
    {},
  ];
  return { name: tool.name, arguments: { [name]: form.type === 'array' ? ['bash', '-lc', line] : line } };
}

/** Words in what tools answered, in order. */
export const resultsIn = ({ messages }: ChatRequest): readonly string[] =>
  messages
    .flatMap(({ parts }) => parts)
    .filter((part): part is Extract<Part, { type: 'tool-result' }> => part.type === 'tool-result')
    .map(({ content }) => content.map((part) => ('text' in part ? part.text : '')).join(''));

const wordsIn = ({ messages }: ChatRequest): string =>
  messages
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n');

/** Reads a file with what the program offers for that; null = it offers nothing. */
export function reading({ tools }: ChatRequest, path: string): Call | null {
  const find = (pattern: RegExp) => tools.find(({ name }) => pattern.test(name.replace(/^.*__/, '')));
  const [reader, shell] = [find(readTools), find(shellTools)];
  if (reader !== undefined) return withPath(reader, path);
  return shell === undefined ? null : withCommand(shell, `cat '${path}'`);
}

/** The next thing to do; null = all is done, or there is nothing to do it with. */
function nextCall(request: ChatRequest, { source, target, reads = 1 }: Task): Call | null {
  // Words alone are wanted, or a summary says that all is done.
  if (request.toolChoice === 'none' || wordsIn(request).includes(doneWords)) return null;
  const done = resultsIn(request).length;
  const find = (pattern: RegExp) => request.tools.find(({ name }) => pattern.test(name.replace(/^.*__/, '')));
  const shell = find(shellTools);
  const writer = find(writeTools);
  const secret = /secret-[a-z]+/.exec(resultsIn(request).join(' '))?.[0] ?? 'nothing was read';
  if (done < reads) return reading(request, source);
  if (done > reads) return null;
  if (writer !== undefined) return withPath(writer, target, secret);
  return shell === undefined ? null : withCommand(shell, `printf %s '${secret}' > '${target}'`);
}

/** Programs without tools expect whole files in the answer: a name, and the contents between fences. */
function wordsFor(request: ChatRequest, { target }: Task): string {
  const secret = request.tools.length > 0 ? undefined : /secret-[a-z]+/.exec(wordsIn(request))?.[0];
  const name = target.split('/').at(-1);
  return secret === undefined ? doneWords : `${doneWords}\n\n${name}\n\`\`\`\n${secret}\n\`\`\`\n`;
}

function answerTo(
  request: ChatRequest,
  {
    task,
    call,
    turn,
    used,
  }: { readonly task: Task; readonly call: Call | null; readonly turn: number; readonly used: Used },
): readonly ChatEvent[] {
  const said: readonly ChatEvent[] =
    call === null
      ? [
          { type: 'text-start', index: 0 },
          { type: 'text-delta', index: 0, text: wordsFor(request, task) },
          { type: 'text-end', index: 0 },
        ]
      : [
          { type: 'tool-call-start', index: 0, id: `call_${turn}`, name: call.name },
          { type: 'tool-call-delta', index: 0, arguments: JSON.stringify(call.arguments) },
          { type: 'tool-call-end', index: 0 },
        ];
  return [
    { type: 'response-start', id: null, model: request.model, created: 1_700_000_000 },
    ...said,
    { type: 'usage', usage: { ...emptyUsage, ...used } },
    { type: 'finish', reason: { unified: call === null ? 'stop' : 'tool_calls', raw: null } },
  ];
}

interface Requested {
  readonly dialect: ProtocolId;
  readonly model: string | null;
  readonly stream: boolean | undefined;
}

function requestedAt(path: string): Requested | null {
  for (const { id, definition } of allCodecs)
    for (const { path: form, operation, stream, session } of definition.routes) {
      if (operation !== 'chat' || session === true) continue;
      const [before = '', after] = form.split('{model}');
      if (after === undefined ? path !== form : !path.startsWith(before) || !path.endsWith(after)) continue;
      const model = after === undefined ? null : decodeURIComponent(path.slice(before.length, -after.length));
      return { dialect: id, model, stream };
    }
  return null;
}

/** A request as its program sent it. */
export interface Received {
  readonly dialect: ProtocolId;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Script {
  /** What the model does next, in place of the task; null = it says that all is done. */
  readonly next?: (request: ChatRequest) => Call | null;
  readonly received?: (received: Received) => void;
  /** Tokens that it says a call took. */
  readonly used?: Used;
}

/** @param task of the one program that runs at the moment. */
export function startUpstream(task: () => Task, { next, received, used = { input: 100, output: 10 } }: Script = {}) {
  let turns = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const requested = requestedAt(pathname);
      if (requested === null || request.method !== 'POST')
        return Response.json({ error: { message: 'no' } }, { status: 404 });
      const body = (await request.json()) as Record<string, unknown>;
      const stream = requested.stream ?? body.stream === true;
      const { translation } = codecFor(requested.dialect);
      const decoded = translation.decodeRequest(body, { model: requested.model, stream });
      received?.({ dialect: requested.dialect, path: pathname, body });
      const at = task();
      const call = next === undefined ? nextCall(decoded, at) : next(decoded);
      const events = answerTo(decoded, { task: at, call, turn: ++turns, used });
      const context = { model: decoded.model, responseId: `r${turns}`, created: 1_700_000_000, includeUsage: true };
      if (!stream) return Response.json(translation.encodeResponse(events, context));
      const writer = translation.writer(context);
      const words = events.map((event) => writer.write(event)).join('');
      return new Response(words, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}
