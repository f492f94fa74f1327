/** Rules, headers and bodies made by a seed: for comparisons of what is said with what is sent. */

/** A channel's fields, rules for all channels, and a client's request. */
export interface RuleCase {
  readonly channel: {
    readonly type: number;
    readonly models: string;
    readonly model_mapping: string;
    readonly param_override: string;
    readonly setting: string;
  };
  readonly rules: object;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

const model = 'gpt-4.1';
const paths = [
  ...['temperature', 'top_p', 'user', 'metadata.a', 'metadata.b.c', 'messages.0.content', 'messages.-1.content'],
  ...['messages.0.role', 'tools.0.function.name', 'stop', 'seed', 'max_tokens', 'x', 'x.y', 'x.0', 'system'],
];
const eachPaths = ['messages.*.content', 'tools.*.type', 'metadata.*'];
const texts = ['a', 'Be brief.', 'h\u00e9llo', ' spaced ', 'UPPER', '$1', '', 'a.b'];
const patterns = ['^a', '[aeiou]', '(h)(i)', 'x?y', '\\\\w+'];
const credential = 'Authorization';
const names = ['X-One', 'X-Two', 'X-Three', credential, 'anthropic-beta', 'User-Agent'];
/** Providers of several dialects: OpenAI, Anthropic, Gemini, DeepSeek. */
const types = [1, 1, 1, 14, 24, 43];

export class RandomCase {
  constructor(private state: number) {}

  next(): RuleCase {
    const mapping = this.chance(0.3) ? { [model]: this.one(['gpt-4o', 'o3', 'claude-sonnet-4-5']) } : {};
    const override = this.chance(0.4) ? { temperature: this.one([0, 0.5, 1]), top_p: 0.9 } : {};
    const rules = (): object => ({
      ...(this.chance(0.6) ? { operations: this.list(4, () => this.operation()) } : {}),
      ...(this.chance(0.5) ? { header_override: this.headerRules(false) } : {}),
    });
    const own = this.chance(0.7) ? { operations: this.list(5, () => this.operation()) } : {};
    return {
      channel: {
        ...{ type: this.one(types), models: model, model_mapping: JSON.stringify(mapping) },
        param_override: JSON.stringify({ ...override, ...own }),
        setting: JSON.stringify({
          ...(this.chance(0.5) ? { header_override: this.headerRules(true) } : {}),
          ...(this.chance(0.2) ? { system_prompt: 'House rules.', system_prompt_override: this.chance(0.5) } : {}),
          ...(this.chance(0.1) ? { pass_through: true } : {}),
        }),
      },
      rules: {
        ...rules(),
        ...(this.chance(0.4) ? { models: { 'gpt-*': rules(), [model]: rules(), other: rules() } } : {}),
      },
      body: this.body(),
      headers: Object.fromEntries(
        this.list(3, () => [
          this.one(['x-one', 'x-two', 'x-three', 'anthropic-beta', 'cookie']),
          this.one(['a', 'b c']),
        ]),
      ) as Record<string, string>,
    };
  }

  private body(): Readonly<Record<string, unknown>> {
    const content = (): unknown =>
      this.chance(0.3) ? [{ type: 'text', text: this.one(texts) || 'x' }] : this.one(texts) || 'x';
    return {
      model,
      messages: [
        ...(this.chance(0.4) ? [{ role: 'system', content: 'You are a test.' }] : []),
        { role: 'user', content: content() },
        ...(this.chance(0.3)
          ? [
              { role: 'assistant', content: 'Yes.' },
              { role: 'user', content: content() },
            ]
          : []),
      ],
      max_tokens: this.one([10, 500, 1000]),
      ...(this.chance(0.3) ? { temperature: this.one([0, 0.7, 1]) } : {}),
      ...(this.chance(0.3) ? { metadata: { a: 'one', b: { c: 2 } } } : {}),
      ...(this.chance(0.2) ? { stop: this.one(['END', ['A', 'B']]) } : {}),
      ...(this.chance(0.2) ? { x: this.one([1, 'text', [1, 2], { y: 'z' }, null]) } : {}),
      ...(this.chance(0.3)
        ? { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }] }
        : {}),
    };
  }

  private operation(): object {
    const mode = this.one([
      ...['set', 'set', 'set', 'delete', 'move', 'copy', 'prepend', 'append', 'replace', 'regex_replace'],
      ...['trim_prefix', 'trim_suffix', 'ensure_prefix', 'ensure_suffix', 'trim_space', 'to_lower', 'to_upper'],
      ...['prune_objects', 'sync_fields', 'return_error'],
    ]);
    const path = this.chance(0.15) ? this.one(eachPaths) : this.one(paths);
    const when = this.chance(0.3) || mode === 'return_error' ? this.conditions() : {};
    return { ...this.details(mode, path), ...when, mode };
  }

  private conditions(): object {
    return {
      conditions: this.list(2, () => ({
        path: this.one([...paths, 'model', 'original_model', 'request_path']),
        mode: this.one(['full', 'prefix', 'suffix', 'contains', 'gt', 'lte']),
        value: this.one([...texts, 1, model, 'claude-sonnet-4-5']),
        invert: this.chance(0.2),
        pass_missing_key: this.chance(0.3),
      })),
      logic: this.one(['AND', 'OR']),
    };
  }

  private details(mode: string, path: string): object {
    switch (mode) {
      case 'move':
      case 'copy':
      case 'sync_fields':
        return { from: this.one(paths), to: this.one(paths) };
      case 'replace':
        return { path, from: this.one(texts) || 'a', to: this.one(texts) };
      case 'regex_replace':
        return { path, from: this.one(patterns), to: this.one(texts) };
      case 'prune_objects':
        return { path: this.one(['messages', 'tools', '']), value: this.one(['text', 'function']) };
      case 'return_error':
        return { value: { message: 'Refused', status_code: this.one([400, 403, 451]) } };
      case 'set':
        return {
          path,
          value: this.one<unknown>([...texts, 1, 0.5, true, null, ['a'], { b: 1 }]),
          keep_origin: this.chance(0.3),
        };
      default:
        return { path, value: this.one(texts) || 'a' };
    }
  }

  /** @param own of one channel: rules for all set no credential. */
  private headerRules(own: boolean): object {
    const changed = (): object =>
      this.one<object>([
        ...(own ? [{ mode: 'set', value: 's {api_key}' }] : []),
        { mode: 'add', value: 'more' },
        { mode: 'default', value: 'd' },
        { mode: 'remove' },
        { mode: 'copy', from: 'X-One' },
        { mode: 'move', from: 'X-Two' },
      ]);
    const plain = (): string => this.one(['plain', '{client_header:X-Two}', '', ...(own ? ['{api_key}'] : [])]);
    const rule = (): object => ({ ...changed(), ...(this.chance(0.4) ? this.conditions() : {}) });
    const passed = this.chance(0.3) ? this.conditions() : '';
    return {
      ...(this.chance(0.3) ? { [this.one(['*', 're:^x-o', 'regex: two'])]: passed } : {}),
      ...Object.fromEntries(
        this.list(4, () => [
          this.one(own ? names : names.filter((name) => name !== credential)),
          this.chance(0.4) ? plain() : this.chance(0.3) ? this.list(3, rule) : rule(),
        ]),
      ),
      ...(!own && this.chance(0.2) ? { [credential]: { mode: 'remove' } } : {}),
    };
  }

  private list<Of>(most: number, make: () => Of): Of[] {
    return Array.from({ length: 1 + Math.floor(this.random() * most) }, make);
  }

  private one<Of>(list: readonly Of[]): Of {
    return list[Math.floor(this.random() * list.length)] as Of;
  }

  private chance(share: number): boolean {
    return this.random() < share;
  }

  /** mulberry32 */
  private random(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
