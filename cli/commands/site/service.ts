/** Files that keep the gateway running (systemd, containers, launchd), and the question whether it is ready, for their health checks. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { serviceFolder } from '../../../server/app/data-dir.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { isCompiled } from '../../bench/process.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { addressOf } from '../../parts/access.ts';
import { processSettingsText } from '../../process-settings.ts';

export interface ServiceInput {
  /** Path of the executable; '' = there is none yet: this runs from the sources. */
  readonly program: string;
  readonly dataDir: string;
  /** It was named: whose files are in it stays as it is. */
  readonly isSet: boolean;
  readonly port: string;
  /** The user that a package has created; absent = systemd creates one, or the owner of the folder is used. */
  readonly user?: string;
  readonly say: Context['say'];
}

/** What `service print` makes: the file, and what its reader has to do before and after. */
interface PrintedUnit {
  readonly file: string;
  readonly notes: readonly string[];
}

const installed = '/usr/local/bin/gateway';
const owedFolder = '/var/lib/gateway-owed';
/** What ProtectHome and PrivateTmp hide from a unit. */
const hidden = /^\/(home|root|run\/user|tmp|var\/tmp)(\/|$)/;

/** One argument of ExecStart, or one path: systemd reads quotes, backslashes, `%` and `$`. */
const unitWord = (word: string): string => {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /[\s"'\\;]/.test(word) ? `"${escaped}"` : escaped;
};
const unitPath = (path: string): string => unitWord(path).replaceAll('$$', '$');
const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** User id of the folder's owner, for `User=`; systemd takes numbers. */
const ownerOf = (dir: string): number => (existsSync(dir) ? statSync(dir).uid : (process.getuid?.() ?? 0));

/** The same as in scripts/systemd/gateway@.service. */
export const hardening = `UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
SystemCallArchitectures=native`;

const privileged = 1024;

export function systemd({ program, dataDir, isSet, port, user, say }: ServiceInput): PrintedUnit {
  const isHidden = program === '' || hidden.test(program);
  const start = isHidden ? installed : program;
  const from = program === '' ? 'dist/gateway' : program;
  const isBelowHome = hidden.test(dataDir);
  const home = isBelowHome
    ? '# The data directory lies below a home: homes are seen, and nothing else in them is written.\nProtectHome=read-only'
    : 'ProtectHome=yes';
  const whose = isSet
    ? `User=${ownerOf(dataDir)}\nReadWritePaths=${unitPath(dataDir)}\nStateDirectory=gateway-owed\nStateDirectoryMode=0700\n${home}`
    : `${user === undefined ? 'DynamicUser=yes' : `User=${user}\nGroup=${user}`}\nStateDirectory=gateway gateway-owed\nStateDirectoryMode=0700\nProtectHome=yes`;
  const capabilities =
    Number(port) < privileged
      ? 'AmbientCapabilities=CAP_NET_BIND_SERVICE\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE'
      : 'CapabilityBoundingSet=';
  const install = `sudo install -m 755 ${shellWord(from)} ${installed}`;
  const reach = `sudo gateway --data-dir ${shellWord(dataDir)} status`;
  const file = `# /etc/systemd/system/gateway.service
${isHidden ? `# Copy the executable first, where a unit may start it: ${install}\n` : ''}# Then: systemctl daemon-reload && systemctl enable --now gateway
# Commands reach it with its data directory: ${reach}
[Unit]
Description=AI gateway
After=network-online.target
Wants=network-online.target

[Service]
Environment=${unitPath(`GATEWAY_DATA_DIR=${dataDir}`)}
# What stands in gateway.env below wins over these two.
Environment=GATEWAY_HOST=127.0.0.1 GATEWAY_PORT=${port}
# What is owed goes here when that disk is full: a mount of its own is safest. PrivateTmp ends with the service.
Environment=GATEWAY_OWED_DIR=${owedFolder}
# With these it need not begin twice.
Environment=${processSettingsText}
# GATEWAY_SECRET_KEY_FILE, DATABASE_URL_FILE and whatever else \`gateway help environment\` lists may stand in here.
EnvironmentFile=-/etc/gateway/gateway.env
ExecStart=${unitWord(start)} serve
# No ExecReload: settings act at once. A new executable: systemctl restart gateway.
Restart=on-failure
RestartSec=2
# Open streams are given 30 seconds to end, what is owed another 10.
TimeoutStopSec=40
KillMode=mixed
# Whatever goes wrong with memory ends this service, and not its neighbours.
MemoryHigh=70%
MemoryMax=80%
LimitNOFILE=65536
${whose}
${hardening}
${capabilities}

[Install]
WantedBy=multi-user.target
`;
  const built =
    program === ''
      ? say(
          `先构建可执行文件（npm run build）并复制：${install}`,
          `build the executable (npm run build) and copy it: ${install}`,
        )
      : say(
          `该单元看不到 ${program}，请先复制：${install}`,
          `the unit cannot see ${program}, copy the executable first: ${install}`,
        );
  const notes = [
    ...(isHidden ? [built] : []),
    say(`数据目录：${dataDir}；用命令访问：${reach}`, `data directory: ${dataDir}; commands reach it with: ${reach}`),
  ];
  return { file, notes };
}

export const container = ({ port }: ServiceInput): PrintedUnit => ({
  notes: [],
  file: `FROM debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates \\
  && rm -rf /var/lib/apt/lists/* && useradd --create-home gateway \\
  && install -d -o gateway -g gateway -m 700 /data /owed /backups
COPY gateway /usr/local/bin/gateway
USER gateway
ENV GATEWAY_DATA_DIR=/data GATEWAY_OWED_DIR=/owed GATEWAY_HOST=0.0.0.0 GATEWAY_PORT=${port}
ENV ${processSettingsText}
VOLUME /data /owed
EXPOSE ${port}
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["gateway", "service", "check"]
ENTRYPOINT ["gateway"]
CMD ["serve"]
`,
});

const xmlText = (word: string): string => word.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const launchd = ({ program, dataDir, port }: ServiceInput): PrintedUnit => ({
  notes: [],
  file: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>gateway</string>
  <key>ProgramArguments</key>
  <array>
    <string>${xmlText(program === '' ? installed : program)}</string>
    <string>serve</string>
    <string>--port</string><string>${port}</string>
    <string>--data-dir</string><string>${xmlText(dataDir)}</string>
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ExitTimeOut</key><integer>40</integer>
</dict>
</plist>
`,
});

const kinds = { systemd, container, launchd } as const;

export const print: CommandRun = async (context, flags, input) => {
  const kind = input === '' ? 'systemd' : input;
  if (!Object.hasOwn(kinds, kind)) throw new AppError('usage', { detail: `${kind}: ${Object.keys(kinds).join(', ')}` });
  const isSet = context.flags.dataDir !== undefined;
  const port = text(flags.port) ?? context.env.GATEWAY_PORT ?? '3000';
  if (!/^\d+$/.test(port) || Number(port) > 65_535) throw new AppError('usage', { detail: `--port ${port}` });
  const { file, notes } = kinds[kind as keyof typeof kinds]({
    program: isCompiled ? realpathSync(process.execPath) : '',
    dataDir: kind === 'systemd' && !isSet ? serviceFolder : context.dataDir,
    ...{ isSet, port, say: context.say },
  });
  context.output.object({ kind, file }, [file.trimEnd()], kind);
  for (const note of notes) context.output.note(note);
};

const withinMs = 4000;

/** Whether paid requests are accepted: 0 when they are, 8 when they are not, 7 when no server answers. */
export const check: CommandRun = async (context) => {
  const address = addressOf(context).replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]');
  const response = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(withinMs) }).catch(
    (error: unknown) => {
      throw new AppError('server_unreachable', {
        detail: `${address}: ${(error as { code?: string }).code ?? 'timeout'}`,
      });
    },
  );
  const { ok, hindrances = [] } = (await response.json().catch(() => ({}))) as {
    readonly ok?: boolean;
    readonly hindrances?: readonly string[];
  };
  const bare = context.say(
    'leases（数据库不可用，且租约不足以处理请求）',
    'leases (the database is away, and what is leased covers no request)',
  );
  const reasons = hindrances.map((name) => (name === 'leases' ? bare : name)).join(', ');
  if (ok !== true) throw new AppError('check_failed', { detail: reasons || `HTTP ${response.status}` });
  context.output.object({ ready: true, address }, [context.say('就绪', 'ready')], 'ready');
};
