import type { CommandRow } from '../../command.ts';

/** @param all every command there is, these among them. */
export const helpRows = (all: () => readonly CommandRow[]): readonly CommandRow[] => [
  {
    name: 'completion',
    argument: '<shell>',
    zh: '补全脚本：bash、zsh、fish、powershell',
    en: 'completion script: bash, zsh, fish, powershell',
    flags: [{ flag: '--install', zh: '写到当前用户的补全目录', en: "write it to the user's completion directory" }],
    examples: ['completion bash --install', 'completion fish | source'],
    load: async () => (await import('./help.ts')).completion,
  },
  {
    name: 'help',
    argument: '[topic]',
    zh: '主题帮助',
    en: 'help on a topic',
    examples: ['help', 'help exit-codes'],
    load: async () => (await import('./help.ts')).help,
  },
  {
    name: 'capabilities',
    zh: '命令、参数、退出码清单（JSON）',
    en: 'commands, flags and exit codes as JSON',
    examples: ['capabilities', 'capabilities --lang zh'],
    load: async () => (await import('./help.ts')).capabilities(all()),
  },
  {
    name: 'version',
    zh: '版本',
    en: 'print the version',
    flags: [
      {
        flag: '--licences',
        zh: '可执行文件内所含各部分的许可证全文',
        en: 'the licence texts of everything in the executable',
      },
      { flag: '--sbom', zh: '软件物料清单（CycloneDX 1.6，JSON）', en: 'the bill of materials, CycloneDX 1.6 as JSON' },
    ],
    examples: ['version', 'version --json', 'version --licences', 'version --sbom'],
    load: async () => (await import('./help.ts')).version,
  },
  {
    name: 'upgrade',
    zh: '从已签名的发布文件升级，或退回升级前的程序与数据（不联网）',
    en: 'upgrade from a signed release file, or go back with program and data, without using the network',
    flags: [
      {
        flag: '--from <file>',
        zh: '发布文件，旁边须有 SHA256SUMS 与 SHA256SUMS.sig',
        en: 'archive or executable of a release, with SHA256SUMS and SHA256SUMS.sig beside it',
      },
      {
        flag: '--release-key <file>',
        zh: '发布公钥（PEM），默认使用程序内置的公钥',
        en: "the release's public key as PEM (default: the one built in)",
      },
      {
        flag: '--allow-downgrade',
        zh: '即使该发布比已安装的旧也安装',
        en: 'install the release even if it is older than this one',
      },
      {
        flag: '--rollback',
        zh: '恢复上一个程序，以及数据库升级前的副本（若已升级）',
        en: 'put the former executable back, and the copy made before its database was upgraded',
      },
      { flag: '--check', zh: '只查看', en: 'look only' },
    ],
    examples: ['upgrade --from gateway-linux-x64.tar.gz', 'upgrade --rollback', 'upgrade --check --json'],
    load: async () => (await import('../site/upgrade.ts')).upgrade,
  },
];
