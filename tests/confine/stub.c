/* Stands for every program that does harm: it tries all of it, and may go on as the program of its name. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void internet(int kind, int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int made = socket(AF_INET, kind, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made >= 0) sendto(made, "x", connect(made, (struct sockaddr *)&to, sizeof to) == 0, 0, NULL, 0);
    close(made);
}

static void local(const char *path, size_t length) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(to.sun_path, path, length);
    connect(made, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + length);
    close(made);
}

static void show(const char *path) {
    char text[4096];
    int file = open(path, O_RDONLY);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text);
    if (size > 0 && write(1, text, size) < 0) return;
}

int main(int count, char **words) {
    char real[4096];
    char *name = strrchr(words[0], '/');
    (void)count;
    close(open("/srv/canary", O_CREAT | O_WRONLY, 0644));
    chmod("/srv/file", 0777);
    show("/home/user/.ssh/id_rsa");
    internet(SOCK_STREAM, 7777);
    internet(SOCK_DGRAM, 7778);
    local("/run/docker.sock", 17);
    local("/srv/agent.sock", 16);
    local("\0session-bus", 12);
#ifdef GOING_ON
    snprintf(real, sizeof real, "/usr/.bin/%s", name ? name + 1 : words[0]);
    execv(real, words);
#endif
    return 0;
}
