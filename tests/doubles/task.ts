/** A model that can do one thing: read a file with the tool it is offered, write another with what was in it, and say so. It looks into the request as the provider got it. */
import { type Json, list, record } from '../../server/protocols/shared/json.ts';
import { type Heard, type HeardText, type HeardTool, type Plan, planFor, type SaidCall } from './plan.ts';

export interface Task {
  readonly source: string;
  readonly target: string;
  /** How often the source is read before the target is written. */
  readonly reads: number;
  /** Half of it done, it says that the conversation has become long. */
  readonly grows: boolean;
  /** Calls so far: a conversation that is made short forgets them. */
  calls: number;
  /** Whether a summary was asked for. */
  shortened: boolean;
}

export const doneWords = 'The task is done.';

const secret = /secret-[a-z]+/;
const shells = /^(?:shell|shell_command|exec_command|run_shell_command|bash|container\.exec)$/i;
const readers = /^(?:read|read_file)$/i;
const writers = /^(?:write|write_file)$/i;
/** How agents ask for a summary of a conversation that has become long. */
const shortening = /context checkpoint compaction|detailed summary of (?:the|our) conversation|state_snapshot/i;

/** Tokens: most of a small window, so that programs make the conversation short. */
const longPrompt = 100_000;

const resultTypes = new Set(['tool_result', 'function_call_output', 'custom_tool_call_output']);

/** What tools answered, in any dialect. */
function resultsIn(value: unknown): readonly string[] {
  const one = record(value);
  if (one === null) return Array.isArray(value) ? value.flatMap(resultsIn) : [];
  const isResult = one.role === 'tool' || resultTypes.has(String(one.type));
  const nested = one.functionResponse ?? one.toolResult;
  if (isResult || nested !== undefined) return [JSON.stringify(nested ?? one)];
  return Object.values(one).flatMap(resultsIn);
}

/** What is read by the call of this number: programs stop a model that asks the same again and again. */
export const pageOf = ({ source }: Pick<Task, 'source'>, call: number): string =>
  call === 0 ? source : source.replace(/\.txt$/, `-${call}.txt`);

const turnsIn = (body: Json): readonly unknown[] => list(body.messages ?? body.contents ?? body.input);

const propertiesOf = ({ schema }: HeardTool): Json => record(record(schema)?.properties) ?? {};

interface Call {
  readonly name: string;
  readonly args: Json;
  readonly text?: NonNullable<SaidCall['text']>;
}

function onPath(tool: HeardTool, path: string, content?: string): Call {
  const names = Object.keys(propertiesOf(tool));
  const place = names.find((name) => /^(?:file_?path|absolute_path|path)$/i.test(name)) ?? 'file_path';
  return { name: tool.name, args: { [place]: path, ...(content === undefined ? {} : { content }) } };
}

function inShell(tool: HeardTool, line: string): Call {
  const properties = propertiesOf(tool);
  const name = ['cmd', 'command'].find((one) => properties[one] !== undefined) ?? 'command';
  const isList = record(properties[name])?.type === 'array';
  return { name: tool.name, args: { [name]: isList ? ['bash', '-lc', line] : line } };
}

/** Codex's own way with newer models: a text of JavaScript that calls the tools. */
const inScript = ({ name, namespace }: HeardText, line: string): Call => ({
  name,
  args: {},
  text: { input: `text(await tools.exec_command(${JSON.stringify({ cmd: line })}));`, namespace },
});

/** @returns null when all is done, or there is nothing to do it with. */
function nextCall(
  { tools, texts = [], choice }: Heard,
  text: string,
  results: readonly string[],
  task: Task,
): Call | null {
  if (choice === 'none' || text.includes(doneWords)) return null;
  const find = (pattern: RegExp) => tools.find(({ name }) => pattern.test(name.replace(/^.*__/, '')));
  const [shell, reader, writer] = [find(shells), find(readers), find(writers)];
  const script = texts.find(({ name }) => name === 'exec');
  const run = (line: string): Call | null => {
    if (shell !== undefined) return inShell(shell, line);
    return script === undefined ? null : inScript(script, line);
  };
  const found = secret.exec(results.join(' '))?.[0] ?? secret.exec(text)?.[0] ?? 'nothing was read';
  if (task.calls < task.reads) {
    const file = pageOf(task, task.calls);
    return reader !== undefined ? onPath(reader, file) : run(`cat '${file}'`);
  }
  if (task.calls > task.reads) return null;
  if (writer !== undefined) return onPath(writer, task.target, found);
  return run(`printf %s '${found}' > '${task.target}'`);
}

/** Programs without tools expect whole files in the answer: a name, and the contents between fences. */
function wordsFor(text: string, { target }: Task): string {
  const found = secret.exec(text)?.[0];
  return found === undefined ? doneWords : `${doneWords}\n\n${target.split('/').at(-1)}\n\`\`\`\n${found}\n\`\`\`\n`;
}

export function planTask(
  task: Task,
  heard: Heard,
  body: Json,
  text: string,
  callId: (seed: string, name: string) => string,
): Plan {
  const base = planFor({ ...heard, tools: [] }, text, callId);
  if (heard.schema !== undefined) return base;
  if (shortening.test(JSON.stringify(turnsIn(body).slice(-2)))) {
    task.shortened = true;
    const found = secret.exec(text)?.[0] ?? 'nothing';
    return { ...base, words: [`So far ${found} was read from ${task.source}; it goes to ${task.target}.`] };
  }
  const results = resultsIn(turnsIn(body));
  const call = nextCall(heard, text, results, task);
  if (call === null)
    return {
      ...base,
      words: [heard.tools.length > 0 || (heard.texts ?? []).length > 0 ? doneWords : wordsFor(text, task)],
    };
  // The first calls of a longer task come together.
  const together = task.calls === 0 && task.reads > 2 && heard.parallel ? 2 : 1;
  const calls: SaidCall[] = [];
  for (let next: Call | null = call; next !== null && calls.length < together; ) {
    task.calls++;
    calls.push({ id: callId(`${task.calls} ${text}`, next.name), ...next });
    next = nextCall(heard, text, results, task);
  }
  const isLong = task.grows && !task.shortened && task.calls > task.reads / 2;
  return {
    ...base,
    usage: isLong ? { ...base.usage, prompt: longPrompt } : base.usage,
    words: ['I will ', 'look.'],
    calls,
  };
}
