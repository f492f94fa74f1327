/** Text that is pasted where one line is asked for: a JSON file of many lines is one answer, and so is a list where one is wanted. */

/** An empty line gives up what never becomes whole. */
export function continues(text: string): boolean {
  if (!text.trimStart().startsWith('{') || text.endsWith('\n')) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

export interface Typed {
  readonly text: string;
  /** It is the answer. */
  readonly whole: boolean;
  /** Lines came behind the answer: they belong to no question. */
  readonly left: boolean;
}

/** @param text so far. @param input what came, line ends among it. @param list several lines at once are one answer. */
export function withInput(text: string, input: string, list = false): Typed {
  const [first = '', ...lines] = input.replace(/\r\n?/g, '\n').split('\n');
  let held = text + printable(first);
  for (const [index, line] of lines.entries()) {
    const rest = lines.slice(index).some((one) => printable(one).trim() !== '');
    if (!continues(held) && !(list && rest)) return { text: held.trimEnd(), whole: true, left: rest };
    held += `\n${printable(line)}`;
  }
  return { text: held, whole: false, left: false };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys that are no text
const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f]/g, '');
