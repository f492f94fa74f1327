/** What one run of an agent needs to go through the gateway: its environment, its arguments, files that live as long as it does. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import {
  type Agent,
  type AgentFile,
  type AgentSettings,
  type ListedModel,
  type ModelSize,
  modelFor,
  sizeOf,
} from '../../server/contract/agents.ts';

export interface AgentRun {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly arguments: readonly string[];
  /** Removes its files. */
  close(): void;
}

/** Milliseconds that the list of models is waited for. */
const timeoutMs = 3000;

/** Models that the key may use, with what is known of their sizes; empty where no server answers. */
async function modelsOf(url: string, key: string): Promise<Pick<AgentSettings, 'models' | 'limits'>> {
  if (key === '') return { models: [] };
  try {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/v1/models`, { headers, signal: AbortSignal.timeout(timeoutMs) });
    const { data = [] } = (await response.json()) as { data?: readonly ListedModel[] };
    const named = data.flatMap((card) => (typeof card.id === 'string' ? [{ id: card.id, size: sizeOf(card) }] : []));
    const limits: Record<string, ModelSize> = {};
    for (const { id, size } of named) if (size !== undefined) limits[id] = size;
    return { models: named.map(({ id }) => id), limits };
  } catch {
    return { models: [] };
  }
}

/** @param model as the user wants it; absent = the best there is for this agent. */
export async function settingsFor(
  agent: Agent,
  { url, key, model }: { readonly url: string; readonly key: string; readonly model?: string | undefined },
): Promise<AgentSettings> {
  const known = await modelsOf(url, key);
  return { url, key, ...known, model: model ?? modelFor(agent, known.models) };
}

type Tree = Readonly<Record<string, unknown>>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

const merged = (below: Tree, above: Tree): Tree =>
  Object.fromEntries(
    [...new Set([...Object.keys(below), ...Object.keys(above)])].map((name) => {
      const [under, over] = [below[name], above[name]];
      return [name, isTree(under) && isTree(over) ? merged(under, over) : name in above ? over : under];
    }),
  );

function treeIn(text: string): Tree {
  try {
    const value: unknown = JSON.parse(text);
    return isTree(value) ? value : {};
  } catch {
    return {};
  }
}

/** A home folder in which everything is the user's own, but for one file that says more. */
function homeFile(home: string, folder: string, { path, text }: AgentFile): string {
  const [place = '', name = ''] = [dirname(path), basename(path)].map((part) => part.replace(/^~\/?/, ''));
  const [own, beside] = [join(home, place), join(folder, place)];
  mkdirSync(beside, { recursive: true, mode: 0o700 });
  for (const entry of existsSync(own) ? readdirSync(own) : [])
    if (entry !== name) symlinkSync(join(own, entry), join(beside, entry));
  const known = existsSync(join(own, name)) ? treeIn(readFileSync(join(own, name), 'utf8')) : {};
  writeFileSync(join(beside, name), JSON.stringify(merged(known, treeIn(text)), null, 2), { mode: 0o600 });
  return folder;
}

/** @param home of the user. */
export function prepareRun(agent: Agent, facts: AgentSettings, home: string): AgentRun {
  const { environment = {}, files = [], arguments: own = [] } = agent.once?.(facts) ?? {};
  const folders: string[] = [];
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), 'gateway-'));
    folders.push(made);
    return made;
  };
  const variableFor = (file: AgentFile): string => {
    if (file.once?.as === 'content') return file.text;
    if (file.once?.as === 'home') return homeFile(home, folder(), file);
    const place = join(folder(), basename(file.path));
    writeFileSync(place, file.text, { mode: 0o600 });
    return place;
  };
  const more = files.flatMap((file) =>
    file.once === undefined ? [] : [[file.once.variable, variableFor(file)] as const],
  );
  return {
    environment: {
      ...Object.fromEntries(agent.unset.map((name) => [name, undefined])),
      ...environment,
      ...Object.fromEntries(more),
    },
    arguments: own,
    close: () => {
      for (const made of folders) rmSync(made, { recursive: true, force: true });
    },
  };
}
