/** Every text that source code tells a person, in pairs of both languages, read from the syntax trees; and what stands there in one language alone. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAst } from 'vite';

export interface Pair {
  readonly file: string;
  readonly zh: string;
  readonly en: string;
}

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

const root = resolve(import.meta.dirname, '../..');
const han = /\p{Script=Han}/u;
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
const listOf = (value: unknown): Node[] => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []);
const childrenOf = (node: Node): Node[] => Object.values(node).flatMap(listOf);

/** What varies in a text stands as `{}`. */
function textOf(node: Node): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node.type !== 'TemplateLiteral') return null;
  return listOf(node.quasis)
    .map((part) => (part.value as { cooked?: string }).cooked ?? '')
    .join('{}');
}

const nameOf = (node: unknown): string =>
  isNode(node) ? String(node.name ?? (typeof node.value === 'string' ? node.value : '')) : '';

/** Texts of a branch: of mails, an object of them. */
const within = (node: Node): string[] => {
  const own = textOf(node);
  return own === null ? childrenOf(node).flatMap(within) : [own];
};

function pairsAt(node: Node): (readonly [string, string])[] {
  if (node.type === 'CallExpression' || node.type === 'ArrayExpression') {
    const texts = listOf(node.arguments ?? node.elements).map(textOf);
    return texts.flatMap((one, at) => {
      const next = texts[at + 1];
      return one !== null && typeof next === 'string' && han.test(one) && !han.test(next) ? [[one, next] as const] : [];
    });
  }
  if (node.type === 'ConditionalExpression') {
    const [one, other] = [listOf(node.consequent), listOf(node.alternate)].map((arm) => arm.flatMap(within));
    if (one === undefined || other === undefined) return [];
    const [zh, en] = (one.some((text) => han.test(text)) ? [one, other] : [other, one]).map((arm) =>
      arm.filter((text) => /\p{L}/u.test(text)),
    );
    // An arm that has both in it pairs them itself.
    if (zh === undefined || en === undefined || en.length === 0) return [];
    if (!zh.every((text) => han.test(text)) || en.some((text) => han.test(text))) return [];
    return zh.map((text, at) => [text, en[at] ?? ''] as const);
  }
  if (node.type === 'ObjectExpression') {
    const textsOf = (name: string): string[] =>
      listOf(node.properties).flatMap((property) =>
        nameOf(property.key) === name ? listOf(property.value).flatMap(within) : [],
      );
    const zh = [...textsOf('zh'), ...textsOf('detail_zh')];
    const en = [...textsOf('en'), ...textsOf('detail_en')];
    return zh.flatMap((text, at) => (en[at] === undefined ? [] : [[text, en[at]] as const]));
  }
  // A table of Chinese words by what English shows: the name of a field, or the words themselves.
  if (node.type === 'VariableDeclarator' && /^chinese/.test(nameOf(node.id)) && isNode(node.init))
    return listOf(node.init.properties).flatMap((property) => {
      const text = isNode(property.value) ? textOf(property.value) : null;
      return text === null ? [] : [[text, nameOf(property.key)] as const];
    });
  return [];
}

export interface SourceTexts {
  readonly pairs: readonly Pair[];
  /** Chinese without an English twin, or both in one text. */
  readonly alone: readonly { readonly file: string; readonly text: string }[];
}

/** @param folders below the project's root. */
export function textsIn(folders: readonly string[]): SourceTexts {
  const pairs: Pair[] = [];
  const alone: { file: string; text: string }[] = [];
  for (const folder of folders)
    for (const path of [...new Bun.Glob('**/*.{ts,tsx}').scanSync({ cwd: join(root, folder) })].sort()) {
      const source = readFileSync(join(root, folder, path), 'utf8');
      if (!han.test(source)) continue;
      const file = `${folder}/${path}`;
      const paired = new Set<string>();
      const seen = new Set<string>();
      const single = new Set<string>();
      const walk = (node: Node): void => {
        for (const [zh, en] of pairsAt(node)) {
          if (!seen.has(`${zh}\n${en}`)) pairs.push({ file, zh, en });
          seen.add(`${zh}\n${en}`);
          paired.add(zh);
        }
        const text = textOf(node);
        if (text !== null && han.test(text)) single.add(text);
        childrenOf(node).forEach(walk);
      };
      walk(parseAst(source, { lang: path.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node);
      for (const text of single) if (!paired.has(text)) alone.push({ file, text });
    }
  return { pairs, alone };
}
