/** Tools of this dialect that the client runs itself: another maker's model gets them as functions, since a call of them is an ordinary one. */
import { text } from '../shared/json.ts';

interface ClientTool {
  readonly type: RegExp;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

const string = { type: 'string' };
const integer = { type: 'integer' };
const range = { type: 'array', items: integer };
const commands = (...words: readonly string[]) => ({ type: 'string', enum: words });

const rows: readonly ClientTool[] = [
  {
    // Source: https://docs.claude.com/en/docs/agents-and-tools/tool-use/bash-tool
    type: /^bash_\d+$/,
    description: 'Runs a command in a bash session that keeps its state; restart begins a new one.',
    schema: { type: 'object', properties: { command: string, restart: { type: 'boolean' } } },
  },
  {
    // Source: https://docs.claude.com/en/docs/agents-and-tools/tool-use/text-editor-tool
    type: /^text_editor_\d+$/,
    description: 'Views, creates and edits text files.',
    schema: {
      type: 'object',
      properties: {
        command: commands('view', 'create', 'str_replace', 'insert'),
        path: string,
        view_range: range,
        file_text: string,
        old_str: string,
        new_str: string,
        insert_line: integer,
        insert_text: string,
      },
      required: ['command', 'path'],
    },
  },
  {
    // Source: https://docs.claude.com/en/docs/agents-and-tools/tool-use/memory-tool
    type: /^memory_\d+$/,
    description: 'Keeps notes in files below /memories.',
    schema: {
      type: 'object',
      properties: {
        command: commands('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
        path: string,
        view_range: range,
        file_text: string,
        old_str: string,
        new_str: string,
        insert_line: integer,
        insert_text: string,
        old_path: string,
        new_path: string,
      },
      required: ['command'],
    },
  },
];

/** @returns undefined for tools that the provider runs. */
export const clientTool = (type: unknown): ClientTool | undefined =>
  rows.find((row) => row.type.test(text(type) ?? ''));
